// The parts of Apache ECharts that figures use.
import { CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomInsideComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([
  CustomChart, HeatmapChart, LineChart, ScatterChart,
  AriaComponent, DataZoomInsideComponent, GridComponent, LegendComponent,
  MarkAreaComponent, MarkLineComponent, TooltipComponent,
  SVGRenderer,
]);

export const FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";

export const create = (element, width, height) => init(element, null, { renderer: "svg", width, height });
