/* Peer program for lwIP: one connection over a TUN interface, as crates/interop/src/script.rs
 * specifies.
 *
 * It uses lwIP's callbacks (raw API), which run on lwIP's thread. A second thread reads the
 * interface. To keep its window small, a receiver accepts data without calling tcp_recved, as
 * lwIP's applications do. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/pbuf.h>
#include <lwip/tcp.h>
#include <lwip/tcpip.h>
#include <lwip/timeouts.h>

#define PACKET 1500
#define PERIOD 1048573u
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static struct {
    bool connect;
    const char *tun;
    ip_addr_t local, remote;
    uint16_t local_port, remote_port;
    uint64_t send, seed, reset_at;
    bool after_fin;
    uint32_t pause_ms, window, limit_s;
} script;

static struct {
    int fd;
    struct netif netif;
    struct tcp_pcb *pcb;
    uint8_t *pattern;
    uint64_t sent, received, sum;
    /* Accepted bytes that still count against the window: until the pause ends, and permanently. */
    uint32_t paused, held;
    bool is_open, is_paused, fin_sent, fin_seen, done;
} host = {.sum = FNV_START};

static void fail(const char *what)
{
    fprintf(stderr, "error: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void send_line(const char *line)
{
    puts(line);
    fflush(stdout);
}

static uint64_t mix(uint64_t n)
{
    n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
    return n ^ (n >> 31);
}

static void make_pattern(void)
{
    host.pattern = malloc(PERIOD + 8);
    if (host.pattern == NULL)
        fail("memory");
    uint64_t n = script.seed;
    for (uint32_t at = 0; at < PERIOD; at += 8) {
        n += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t word = mix(n);
        for (int i = 0; i < 8; i++)
            host.pattern[at + i] = (uint8_t)(word >> (8 * i));
    }
}

/* Reports once; the stack keeps running. */
static void report(const char *ended)
{
    if (host.done)
        return;
    host.done = true;
    printf("{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"checksum\":\"%016" PRIx64 "\",\"ended\":\"%s\"}\n",
           host.sent, host.received, host.sum, ended);
    fflush(stdout);
}

static void report_if_closed(void)
{
    if (host.fin_sent && host.fin_seen)
        report("closed");
}

static void send_more(void)
{
    struct tcp_pcb *pcb = host.pcb;
    if (pcb == NULL || script.reset_at > 0 || host.fin_sent || (script.after_fin && !host.fin_seen))
        return;
    while (host.sent < script.send) {
        uint32_t start = (uint32_t)(host.sent % PERIOD);
        uint64_t most = script.send - host.sent;
        if (most > PERIOD - start)
            most = PERIOD - start;
        if (most > tcp_sndbuf(pcb))
            most = tcp_sndbuf(pcb);
        if (most > 0x4000)
            most = 0x4000;
        /* A later ACK or the poll timer continues. */
        if (most == 0 || tcp_write(pcb, host.pattern + start, (u16_t)most, TCP_WRITE_FLAG_COPY) != ERR_OK)
            break;
        host.sent += most;
    }
    tcp_output(pcb);
    if (host.sent == script.send && tcp_shutdown(pcb, 0, 1) == ERR_OK)
        host.fin_sent = true;
    report_if_closed();
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    (void)arg, (void)pcb, (void)len;
    send_more();
    return ERR_OK;
}

static void advance_window(uint32_t bytes)
{
    while (bytes > 0 && host.pcb != NULL) {
        u16_t now = bytes > 0xffff ? 0xffff : (u16_t)bytes;
        tcp_recved(host.pcb, now);
        bytes -= now;
    }
}

static err_t on_data(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    (void)arg, (void)err;
    if (p == NULL) {
        host.fin_seen = true;
        if (script.reset_at > 0)
            report("FIN came before enough data");
        send_more();
        report_if_closed();
        return ERR_OK;
    }
    uint32_t credit = p->tot_len;
    for (struct pbuf *q = p; q != NULL; q = q->next) {
        const uint8_t *bytes = q->payload;
        for (uint32_t i = 0; i < q->len; i++) {
            if (script.reset_at > 0 && host.received >= script.reset_at)
                break;
            host.sum = (host.sum ^ bytes[i]) * FNV_PRIME;
            host.received++;
        }
    }
    pbuf_free(p);
    if (script.reset_at > 0 && host.received >= script.reset_at) {
        host.pcb = NULL;
        tcp_err(pcb, NULL);
        tcp_abort(pcb);
        report("aborted");
        return ERR_ABRT;
    }
    if (script.window > 0 && script.window < TCP_WND && host.held < TCP_WND - script.window) {
        uint32_t keep = TCP_WND - script.window - host.held;
        if (keep > credit)
            keep = credit;
        host.held += keep;
        credit -= keep;
    }
    if (host.is_paused)
        host.paused += credit;
    else
        advance_window(credit);
    return ERR_OK;
}

static void on_error(void *arg, err_t err)
{
    (void)arg;
    /* lwIP has freed the pcb. */
    host.pcb = NULL;
    switch (err) {
    case ERR_RST:
        report(host.is_open ? "reset" : "refused");
        break;
    case ERR_CLSD:
        report_if_closed();
        report("closed by the stack");
        break;
    case ERR_ABRT:
        report("timeout");
        break;
    default: {
        char text[32];
        snprintf(text, sizeof text, "lwIP error %d", err);
        report(text);
    }
    }
}

static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
    (void)arg, (void)pcb;
    send_more();
    return ERR_OK;
}

static void on_pause_over(void *arg)
{
    (void)arg;
    uint32_t credit = host.paused;
    host.is_paused = false;
    host.paused = 0;
    advance_window(credit);
}

static void attach_callbacks(struct tcp_pcb *pcb)
{
    host.pcb = pcb;
    tcp_recv(pcb, on_data);
    tcp_sent(pcb, on_sent);
    tcp_err(pcb, on_error);
    tcp_poll(pcb, on_poll, 1);
}

static void begin(void)
{
    host.is_open = true;
    if (script.pause_ms > 0) {
        host.is_paused = true;
        sys_timeout(script.pause_ms, on_pause_over, NULL);
    }
    send_more();
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg, (void)pcb, (void)err;
    begin();
    return ERR_OK;
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (err != ERR_OK || pcb == NULL)
        return ERR_VAL;
    attach_callbacks(pcb);
    begin();
    return ERR_OK;
}

static void on_limit(void *arg)
{
    (void)arg;
    report("timeout");
}

/* Writes one packet to the interface. A failed write drops it. */
static err_t tun_output(struct netif *netif, struct pbuf *p)
{
    (void)netif;
    uint8_t packet[PACKET];
    u16_t len = pbuf_copy_partial(p, packet, sizeof packet, 0);
    if (len != p->tot_len || write(host.fd, packet, len) != len)
        return ERR_IF;
    return ERR_OK;
}

static err_t tun_output_v4(struct netif *netif, struct pbuf *p, const ip4_addr_t *to)
{
    (void)to;
    return tun_output(netif, p);
}

static err_t tun_output_v6(struct netif *netif, struct pbuf *p, const ip6_addr_t *to)
{
    (void)to;
    return tun_output(netif, p);
}

static err_t prepare(struct netif *netif)
{
    netif->name[0] = 't';
    netif->name[1] = 'n';
    netif->mtu = PACKET;
    netif->output = tun_output_v4;
    netif->output_ip6 = tun_output_v6;
    return ERR_OK;
}

static void start(void *arg)
{
    (void)arg;
    ip4_addr_t address, mask, none;
    ip4_addr_set_zero(&none);
    ip4_addr_set_zero(&address);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    if (IP_IS_V4(&script.local))
        address = *ip_2_ip4(&script.local);
    if (netif_add(&host.netif, &address, &mask, &none, NULL, prepare, tcpip_input) == NULL)
        fail("netif_add");
    netif_set_ip6_autoconfig_enabled(&host.netif, 0);
    netif_set_default(&host.netif);
    netif_set_link_up(&host.netif);
    netif_set_up(&host.netif);
    if (IP_IS_V6(&script.local)) {
        netif_ip6_addr_set(&host.netif, 0, ip_2_ip6(&script.local));
        netif_ip6_addr_set_state(&host.netif, 0, IP6_ADDR_PREFERRED);
    }
    sys_timeout(script.limit_s * 1000, on_limit, NULL);
    struct tcp_pcb *pcb = tcp_new_ip_type(IP_GET_TYPE(&script.local));
    if (pcb == NULL)
        fail("tcp_new");
    if (script.connect) {
        attach_callbacks(pcb);
        if (tcp_bind(pcb, &script.local, 0) != ERR_OK ||
            tcp_connect(pcb, &script.remote, script.remote_port, on_connected) != ERR_OK)
            fail("tcp_connect");
        return;
    }
    if (tcp_bind(pcb, &script.local, script.local_port) != ERR_OK)
        fail("tcp_bind");
    pcb = tcp_listen_with_backlog(pcb, 1);
    if (pcb == NULL)
        fail("tcp_listen");
    tcp_accept(pcb, on_accept);
    send_line("ready");
}

static void *read_packets(void *arg)
{
    (void)arg;
    uint8_t packet[PACKET];
    for (;;) {
        ssize_t len = read(host.fd, packet, sizeof packet);
        if (len <= 0)
            fail("read the interface");
        /* Not PBUF_POOL: in Debian's 2.1.3 its buffers claim 1500 bytes but have 616. */
        struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM);
        if (p == NULL)
            continue;
        if (pbuf_take(p, packet, (u16_t)len) != ERR_OK || host.netif.input(p, &host.netif) != ERR_OK)
            pbuf_free(p);
    }
    return NULL;
}

static void set_address(ip_addr_t *address, const char *text)
{
    if (!ipaddr_aton(text, address)) {
        errno = EINVAL;
        fail(text);
    }
}

static void read_script(int count, char **args)
{
    for (int i = 1; i < count; i++) {
        char *value = strchr(args[i], '=');
        if (value == NULL) {
            errno = EINVAL;
            fail(args[i]);
        }
        *value++ = 0;
        const char *key = args[i];
        uint64_t number = strtoull(value, NULL, 10);
        if (!strcmp(key, "open"))
            script.connect = !strcmp(value, "connect");
        else if (!strcmp(key, "tun"))
            script.tun = value;
        else if (!strcmp(key, "local"))
            set_address(&script.local, value);
        else if (!strcmp(key, "remote"))
            set_address(&script.remote, value);
        else if (!strcmp(key, "local-port"))
            script.local_port = (uint16_t)number;
        else if (!strcmp(key, "remote-port"))
            script.remote_port = (uint16_t)number;
        else if (!strcmp(key, "send"))
            script.send = number;
        else if (!strcmp(key, "seed"))
            script.seed = number;
        else if (!strcmp(key, "after-fin"))
            script.after_fin = number != 0;
        else if (!strcmp(key, "reset-at"))
            script.reset_at = number;
        else if (!strcmp(key, "pause-ms"))
            script.pause_ms = (uint32_t)number;
        else if (!strcmp(key, "window"))
            script.window = (uint32_t)number;
        else if (!strcmp(key, "limit-s"))
            script.limit_s = (uint32_t)number;
    }
}

int main(int count, char **args)
{
    read_script(count, args);
    make_pattern();
    /* Seed of initial sequence numbers and ports. */
    srand((unsigned)script.seed);
    host.fd = open("/dev/net/tun", O_RDWR);
    if (host.fd < 0)
        fail("/dev/net/tun");
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strncpy(request.ifr_name, script.tun ? script.tun : "", IFNAMSIZ - 1);
    if (ioctl(host.fd, TUNSETIFF, &request) < 0)
        fail("TUNSETIFF");
    send_line("tun");
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL || strcmp(line, "go\n") != 0) {
        errno = EPIPE;
        fail("the runner did not send `go`");
    }
    tcpip_init(NULL, NULL);
    if (tcpip_callback(start, NULL) != ERR_OK)
        fail("tcpip_callback");
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_packets, NULL) != 0)
        fail("pthread_create");
    while (fgets(line, sizeof line, stdin) != NULL)
        ;
    _exit(0);
}
