import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chart } from '../../components/ui/chart.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { duration, rate, timeOfDay } from '../../lib/format.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { queueSeries } from './queries.ts'
import { isNear, type Series, SPANS, type SpanName } from './series.ts'

const OPTIONS = Object.entries(SPANS).map(([value, { label }]) => ({ value: value as SpanName, label }))

export interface QueueChartsProps {
  readonly queue: string
  readonly lateAfterMs: number | undefined
}

/** Throughput, failures and latency over an hour or a day. */
export function QueueCharts({ queue, lateAfterMs }: QueueChartsProps) {
  const [span, setSpan] = useState<SpanName>('1h')
  const read = useRead(queueSeries(queue, span))
  return (
    <View style={styles.charts}>
      <View style={styles.head}>
        <Text variant="heading" level={2}>
          Over time
        </Text>
        <Segmented label="Time range" options={OPTIONS} value={span} onChange={setSpan} />
      </View>
      <ReadState read={read} skeleton={<Skeleton height={220} />}>
        {(series) => <Charts series={series} lateAfterMs={lateAfterMs} />}
      </ReadState>
    </View>
  )
}

function Charts({
  series,
  lateAfterMs,
}: { readonly series: Series } & Pick<QueueChartsProps, 'lateAfterMs'>) {
  const { times, completed, failed, wait, run } = series
  const common = { times, formatTime: timeOfDay, height: 140 }
  const isThresholdNear = lateAfterMs !== undefined && isNear(lateAfterMs, wait.p50, wait.p95)
  return (
    <>
      <Card>
        <Chart
          title="Runs per minute"
          series={[
            { name: 'completed', values: completed, color: 'accent', isArea: true },
            { name: 'failed', values: failed, color: 'bad', isDashed: true },
          ]}
          format={rate}
          {...common}
        />
      </Card>
      <Card>
        <Chart
          title="Wait to start"
          series={percentiles(wait)}
          format={duration}
          {...(isThresholdNear && {
            threshold: { value: lateAfterMs, label: `late after ${duration(lateAfterMs)}` },
          })}
          {...common}
        />
      </Card>
      <Card>
        <Chart title="Run time" series={percentiles(run)} format={duration} {...common} />
      </Card>
    </>
  )
}

const percentiles = ({ p50, p95 }: Series['wait']) => [
  { name: 'p50', values: p50, color: 'accent' as const },
  { name: 'p95', values: p95, color: 'warn' as const, isDashed: true },
]

function Card({ children }: { readonly children: React.ReactNode }) {
  const { colors } = useTheme()
  return (
    <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
      {children}
    </View>
  )
}

const styles = StyleSheet.create({
  charts: { gap: space.m },
  head: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    justifyContent: 'space-between',
    gap: space.s,
  },
  card: { borderWidth: 1, borderRadius: radius.l, padding: space.l },
})
