import { StyleSheet, useWindowDimensions, View } from 'react-native'
import { Tile } from '../../components/ui/tile.tsx'
import { useRead } from '../../lib/api.tsx'
import { useServerNow } from '../../lib/clock.ts'
import type { Health } from '../../lib/connection-provider.tsx'
import { ageParts, number, percent, rate } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useIsLargeText, useIsWide } from '../../theme/use-theme.ts'
import { type JobStats, queueStats } from './queries.ts'
import type { QueueHealth } from './queue-row.tsx'

export interface QueueTilesProps {
  readonly queue: QueueHealth
  readonly thresholds: Health['thresholds']
}

/** The tiles of Now, for one queue. */
export function QueueTiles({ queue, thresholds }: QueueTilesProps) {
  const { waiting, running, capacity, throughput, failureRate, spark } = queue
  const stats = useRead(queueStats(queue.queue)).data
  const isFailing = isOverLimit(queue, thresholds.failureRate)
  return (
    <View style={styles.tiles}>
      <Place>
        <OldestTile
          since={queue.oldestWaiting}
          thresholdSeconds={thresholds.oldestWaitingSeconds}
          isPaused={queue.paused !== null}
        />
      </Place>
      <Place>
        <Tile
          label="Waiting"
          value={number(waiting)}
          trend={laterOf(queue, stats)}
          spark={spark.waiting}
          size="small"
        />
      </Place>
      <Place>
        <Tile
          label="Throughput"
          value={rate(throughput)}
          unit="/min"
          trend={'over 5\u00a0min'}
          spark={spark.throughput}
          size="small"
        />
      </Place>
      <Place>
        <Tile
          label="Failure rate"
          value={failureRate === null ? '–' : percent(failureRate)}
          trend={failureTrend(queue, thresholds.failureRate)}
          isBad={isFailing}
          spark={spark.failureRate}
          threshold={thresholds.failureRate}
          size="small"
        />
      </Place>
      <Place>
        <Tile
          label="Running"
          value={number(running)}
          unit={`of ${number(capacity)}`}
          trend={capacity === 0 ? 'no worker' : running >= capacity ? 'all slots busy' : 'slots free'}
          isBad={capacity === 0 && waiting > 0}
          size="small"
        />
      </Place>
    </View>
  )
}

function OldestTile({
  since,
  thresholdSeconds,
  isPaused,
}: {
  readonly since: Date | null
  readonly thresholdSeconds: number
  /** Its jobs wait on purpose: neither on time nor late. */
  readonly isPaused: boolean
}) {
  const now = useServerNow()
  const isLate = !isPaused && since !== null && now - since.getTime() >= thresholdSeconds * 1_000
  return (
    <Tile
      label="Oldest waiting"
      value={since === null ? '–' : ageParts(since, now)}
      trend={since === null ? 'nothing waiting' : isPaused ? 'paused' : isLate ? 'late' : 'on time'}
      isBad={isLate}
      size="small"
    />
  )
}

/** Jobs that are not ready to run. */
function laterOf(
  { scheduled, suspended, blocked, throttled }: QueueHealth,
  stats: JobStats | undefined,
): string {
  const parts = [
    ...(stats
      ? [
          stats.retrying > 0 && `${number(stats.retrying)} retrying`,
          stats.scheduled > 0 && `${number(stats.scheduled)} scheduled`,
        ]
      : [scheduled > 0 && `${number(scheduled)} due later`]),
    suspended > 0 && `${number(suspended)} suspended`,
    blocked > 0 && `${number(blocked)} blocked`,
    throttled > 0 && `${number(throttled)} throttled`,
  ].filter(Boolean)
  return parts.join(', ') || 'ready to run'
}

/** The badge of the queue judges the same: a few runs say nothing. */
const isOverLimit = ({ failureRate, isRateJudged }: QueueHealth, limit: number) =>
  isRateJudged && failureRate !== null && failureRate >= limit

function failureTrend(queue: QueueHealth, limit: number): string {
  if (queue.failureRate === null) return 'nothing ran in 15\u00a0min'
  if (!queue.isRateJudged) return 'too few runs in 15\u00a0min'
  return isOverLimit(queue, limit) ? `over ${percent(limit)} in 15\u00a0min` : 'over 15\u00a0min'
}

/** The width of a window in which all five fit beside the list of queues. */
const FIVE_FROM = 1_600

function Place({ children }: { readonly children: React.ReactNode }) {
  const { width } = useWindowDimensions()
  const isBeside = useIsWide() && width < FIVE_FROM
  return (
    <View style={[styles.place, isBeside && styles.third, useIsLargeText() && styles.across]}>
      {children}
    </View>
  )
}

const styles = StyleSheet.create({
  tiles: { flexDirection: 'row', flexWrap: 'wrap', gap: space.m },
  place: { flexGrow: 1, flexBasis: 150, minWidth: 150 },
  // Beside the list three and two: the fifth alone would be stretched over a row.
  third: { flexBasis: '30%' },
  across: { flexBasis: '100%' },
})
