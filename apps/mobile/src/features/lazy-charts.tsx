/** A phone has them already; a browser loads all of them with the first one that is shown. */
export { FailureChart, NowCharts, QueueCharts } from './charts.ts'
