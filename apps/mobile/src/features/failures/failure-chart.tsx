import { Chart } from '../../components/ui/chart.tsx'
import { serverNow } from '../../lib/clock.ts'

export interface FailureChartProps {
  /** How many failed in each part of the time. */
  readonly trend: readonly number[]
  /** How far it goes back. */
  readonly ms: number
}

export function FailureChart({ trend, ms }: FailureChartProps) {
  const stepMs = ms / trend.length
  const start = serverNow() - ms
  return (
    <Chart
      title="Failed"
      unit="count"
      series={[{ name: 'jobs', values: trend, color: 'bad', kind: 'bar' }]}
      times={trend.map((_, part) => new Date(start + part * stepMs))}
      stepMs={stepMs}
      height={156}
    />
  )
}
