// Without DecompressionStream the page remains as it is: static figures and tables.
(async () => {
  const inflate = (text, format) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format))).text();
  };
  const script = document.createElement("script");
  script.textContent = await inflate(document.getElementById("script").textContent, "gzip");
  document.body.append(script);
  lowtide.start((text) => inflate(text, "deflate"));
})();
