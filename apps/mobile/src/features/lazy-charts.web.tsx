import { later } from '../components/ui/later.tsx'
import { Skeleton } from '../components/ui/skeleton.tsx'

const charts = () => import('./charts.ts')

export const FailureChart = later(async () => (await charts()).FailureChart, <Skeleton height={220} />)
export const NowCharts = later(async () => (await charts()).NowCharts, <Skeleton height={540} />)
export const QueueCharts = later(async () => (await charts()).QueueCharts, <Skeleton height={540} />)
