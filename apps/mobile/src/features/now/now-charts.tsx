import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chart } from '../../components/ui/chart.tsx'
import { ChartGrid } from '../../components/ui/chart-grid.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { useRead } from '../../lib/api.tsx'
import type { Health } from '../../lib/connection-provider.tsx'
import { percent } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { gaugeSeries, runSeries } from '../queues/queries.ts'
import { lateThreshold, OverTime, RunsChart, useChartStyle, WaitingChart } from '../queues/queue-charts.tsx'
import type { SpanName } from '../queues/series.ts'

/** All queues together over an hour or a day, for a desk: it costs requests that a phone has no room to show. */
export function NowCharts({ thresholds }: Pick<Health, 'thresholds'>) {
  const [span, setSpan] = useState<SpanName>('1h')
  const read = useRead(runSeries(null, span))
  const gauges = useRead(gaugeSeries(null, span)).data
  const common = useChartStyle(null)
  const { failureRate: limit, oldestWaitingSeconds } = thresholds
  return (
    <View style={styles.charts}>
      <OverTime span={span} onSpan={setSpan}>
        <ReadState read={read} skeleton={<Skeleton height={540} />}>
          {(series) => (
            <ChartGrid>
              <RunsChart {...{ series, span, ...common }} />
              <Chart
                title="Failure rate"
                unit="share"
                times={series.times}
                stepMs={series.stepMs}
                series={[{ name: 'of runs', values: series.failureRate, color: 'bad', kind: 'line' }]}
                threshold={{ value: limit, label: `limit ${percent(limit)}` }}
                {...common}
              />
              {gauges && <WaitingChart {...{ gauges, ...common }} />}
              {gauges && (
                <Chart
                  title="Oldest waiting"
                  unit="duration"
                  times={gauges.times}
                  stepMs={gauges.stepMs}
                  series={[{ name: 'waits', values: gauges.oldestMs, color: 'accent', kind: 'line' }]}
                  threshold={lateThreshold(oldestWaitingSeconds * 1_000, gauges.oldestMs)}
                  {...common}
                />
              )}
            </ChartGrid>
          )}
        </ReadState>
      </OverTime>
    </View>
  )
}

const styles = StyleSheet.create({ charts: { paddingHorizontal: space.l } })
