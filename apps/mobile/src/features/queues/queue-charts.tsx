import { type ReactNode, useState } from 'react'
import { StyleSheet, useWindowDimensions, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chart, type ChartMark } from '../../components/ui/chart.tsx'
import { ChartGrid } from '../../components/ui/chart-grid.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { duration } from '../../lib/format.ts'
import { DESK, space } from '../../theme/tokens.ts'
import { useIsDesk } from '../../theme/use-theme.ts'
import { deploysOf } from './deploys.ts'
import { deploys, gaugeSeries, runSeries } from './queries.ts'
import { type Gauges, isNear, type Series, SPANS, type SpanName } from './series.ts'

const OPTIONS = Object.entries(SPANS).map(([value, { label }]) => ({ value: value as SpanName, label }))

export interface QueueChartsProps {
  readonly queue: string
  readonly lateAfterMs: number | undefined
}

/** Runs and latency over an hour or a day; where there is room, what waited too. */
export function QueueCharts({ queue, lateAfterMs }: QueueChartsProps) {
  const [span, setSpan] = useState<SpanName>('1h')
  const isDesk = useIsDesk()
  const read = useRead(runSeries(queue, span))
  const gauges = useRead({ ...gaugeSeries(queue, span), enabled: isDesk }).data
  const common = useChartStyle(queue)
  return (
    <OverTime span={span} onSpan={setSpan}>
      <ReadState read={read} skeleton={<Skeleton height={220} />}>
        {(series) => (
          <ChartGrid>
            <RunsChart {...{ series, span, ...common }} />
            {isDesk && gauges && <WaitingChart {...{ gauges, ...common }} />}
            <Chart
              title="Wait to start"
              unit="duration"
              times={series.times}
              stepMs={series.stepMs}
              series={percentiles(series.wait)}
              threshold={lateThreshold(lateAfterMs, series.wait.p50, series.wait.p95)}
              {...common}
            />
            <Chart
              title="Run time"
              unit="duration"
              times={series.times}
              stepMs={series.stepMs}
              series={percentiles(series.run)}
              {...common}
            />
          </ChartGrid>
        )}
      </ReadState>
    </OverTime>
  )
}

interface OverTimeProps {
  readonly span: SpanName
  readonly onSpan: (span: SpanName) => void
  readonly children: ReactNode
}

/** Charts below their heading, and how far back they look. */
export function OverTime({ span, onSpan, children }: OverTimeProps) {
  return (
    <View style={styles.charts}>
      <View style={styles.head}>
        <Text variant="heading" level={2}>
          Over time
        </Text>
        <Segmented label="Time range" options={OPTIONS} value={span} onChange={onSpan} />
      </View>
      {children}
    </View>
  )
}

interface ChartStyle {
  readonly height: number
  readonly marks: readonly ChartMark[]
}

/** From which width of the window on charts are how high. */
const HEIGHTS = [
  [1_800, 280],
  [DESK, 208],
  [0, 156],
] as const

/** As large as there is room for; deploys are marked everywhere. */
export function useChartStyle(queue: string | null): ChartStyle {
  const { width } = useWindowDimensions()
  const { data = [] } = useRead(deploys)
  const [, height] = HEIGHTS.find(([from]) => width >= from) ?? HEIGHTS[2]
  return { height, marks: deploysOf(data, queue) }
}

interface RunsChartProps extends ChartStyle {
  readonly series: Series
  readonly span: SpanName
}

export function RunsChart({ series, span, ...style }: RunsChartProps) {
  const { times, stepMs, completed, failed } = series
  return (
    <Chart
      title={`Runs ${SPANS[span].per}`}
      unit="count"
      times={times}
      stepMs={stepMs}
      series={[
        { name: 'completed', values: completed, color: 'accent', kind: 'bar' },
        { name: 'failed', values: failed, color: 'bad', kind: 'bar' },
      ]}
      {...style}
    />
  )
}

export function WaitingChart({ gauges, ...style }: ChartStyle & { readonly gauges: Gauges }) {
  const { times, stepMs, waiting } = gauges
  return (
    <Chart
      title="Waiting"
      unit="count"
      times={times}
      stepMs={stepMs}
      series={[{ name: 'jobs', values: waiting, color: 'accent', kind: 'bar' }]}
      {...style}
    />
  )
}

export function lateThreshold(
  lateAfterMs: number | undefined,
  ...series: readonly (readonly (number | null)[])[]
) {
  if (lateAfterMs === undefined || !isNear(lateAfterMs, ...series)) return undefined
  return { value: lateAfterMs, label: `late after ${duration(lateAfterMs)}` }
}

const percentiles = ({ p50, p95 }: Series['wait']) => [
  { name: 'p50', values: p50, color: 'accent' as const, kind: 'line' as const },
  { name: 'p95', values: p95, color: 'warn' as const, kind: 'line' as const, isDashed: true },
]

const styles = StyleSheet.create({
  charts: { gap: space.m },
  head: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    justifyContent: 'space-between',
    gap: space.s,
  },
})
