export { FailureChart } from './failures/failure-chart.tsx'
export { NowCharts } from './now/now-charts.tsx'
export { QueueCharts } from './queues/queue-charts.tsx'
