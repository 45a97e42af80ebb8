import { useRouter } from 'expo-router'
import { StyleSheet, useWindowDimensions, View } from 'react-native'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { Tile } from '../../components/ui/tile.tsx'
import { useServerNow } from '../../lib/clock.ts'
import type { Health } from '../../lib/connection-provider.tsx'
import { ageParts, count, duration, number, percent, rate } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useIsLargeText, useIsWide } from '../../theme/use-theme.ts'
import { trendOf } from './trend.ts'

/** Of the sparklines, and of the words about them. */
const WINDOW = 'last 30\u00a0min'

/** Five numbers in five places that never change: oldest waiting, backlog, throughput, failure rate, workers. */
export function NowTiles({ health }: { readonly health: Health }) {
  const router = useRouter()
  const { backlog, throughput, failureRate, workers, thresholds } = health
  const isFailing = (failureRate.value ?? 0) >= thresholds.failureRate
  const isStill = throughput.value === 0 && backlog.value > 0
  return (
    <View style={styles.tiles}>
      <Place isFirst>
        <OldestWaiting health={health} onPress={() => router.navigate('/queues')} />
      </Place>
      <Place>
        <Tile
          label="Backlog"
          value={number(backlog.value)}
          trend={backlogTrend(health)}
          spark={backlog.spark}
          window={WINDOW}
          onPress={() => router.push({ pathname: '/jobs', params: { status: 'pending' } })}
        />
      </Place>
      <Place>
        <Tile
          label="Throughput"
          value={rate(throughput.value)}
          unit="/min"
          trend={isStill ? 'no jobs finish' : trendOf(throughput.spark)}
          isBad={isStill}
          spark={throughput.spark}
          window={'over 5\u00a0min · line 30\u00a0min'}
          onPress={() => router.push('/jobs')}
        />
      </Place>
      <Place>
        <Tile
          label="Failure rate"
          value={failureRate.value === null ? '–' : percent(failureRate.value)}
          trend={failureTrend(health)}
          isBad={isFailing}
          spark={failureRate.spark}
          window={'over 15\u00a0min · line 30\u00a0min'}
          threshold={thresholds.failureRate}
          onPress={() => router.navigate('/failures')}
        />
      </Place>
      <Place>
        <Tile
          label="Workers alive"
          value={number(workers.alive)}
          trend={workersTrend(workers)}
          isBad={workers.alive === 0 || workers.missing > 0}
          spark={workers.spark}
          window={WINDOW}
          onPress={() => router.push('/workers')}
        />
      </Place>
    </View>
  )
}

/** Ticks by itself, so that nothing around it renders again each second. */
function OldestWaiting({ health, onPress }: { readonly health: Health; readonly onPress: () => void }) {
  const now = useServerNow()
  const { oldestWaiting, thresholds } = health
  const limit = duration(thresholds.oldestWaitingSeconds * 1_000)
  const tile = { label: 'Oldest waiting', spark: oldestWaiting.spark, window: WINDOW, onPress }
  const threshold = thresholds.oldestWaitingSeconds
  if (oldestWaiting.value === null)
    return <Tile {...tile} threshold={threshold} value="–" trend="nothing waiting" />
  const isLate = now - oldestWaiting.value.getTime() > threshold * 1_000
  const trend = trendOf(oldestWaiting.spark)
  return (
    <Tile
      {...tile}
      threshold={threshold}
      value={ageParts(oldestWaiting.value, now)}
      isBad={isLate}
      trend={isLate ? `over ${limit}, ${trend}` : `${trend}, limit ${limit}`}
    />
  )
}

/** Suspended jobs wait for something else than a worker: they are no backlog, and named beside it. */
function backlogTrend({ backlog, queues, others }: Health): string {
  const suspended = queues.reduce((sum, queue) => sum + queue.suspended, others.suspended)
  const trend = trendOf(backlog.spark)
  return suspended > 0 ? `${trend}, ${number(suspended)} suspended` : trend
}

function failureTrend({ failureRate, thresholds }: Health): string {
  const limit = percent(thresholds.failureRate)
  if (failureRate.value === null) return 'nothing ran'
  const trend = trendOf(failureRate.spark)
  return failureRate.value >= thresholds.failureRate ? `over ${limit}, ${trend}` : `${trend}, limit ${limit}`
}

function workersTrend({ alive, missing, running, slots }: Health['workers']): string {
  if (missing > 0) return `${number(missing)} missing`
  if (alive === 0) return 'no workers'
  return `${number(running)} of ${count(slots, 'slot')} busy`
}

/** The width of a window in which all five fit beside the rail. */
const FIVE_FROM = 1_060

/** On a phone the oldest waiting across, and two by two below; five in a row where there is room, else three and two. With large text each across. */
function Place({
  isFirst = false,
  children,
}: {
  readonly isFirst?: boolean
  readonly children: React.ReactNode
}) {
  const { width } = useWindowDimensions()
  const isWide = useIsWide()
  const isAcross = useIsLargeText() || isFirst
  const wide = width >= FIVE_FROM ? styles.fifth : styles.third
  return <View style={[styles.place, isWide ? wide : isAcross && styles.across]}>{children}</View>
}

export function TileSkeletons() {
  return (
    <View style={styles.tiles} role="progressbar" aria-label="Loading" aria-busy>
      {[0, 1, 2, 3, 4].map((place) => (
        <Place key={place} isFirst={place === 0}>
          <Skeleton height={158} />
        </Place>
      ))}
    </View>
  )
}

const styles = StyleSheet.create({
  tiles: { flexDirection: 'row', flexWrap: 'wrap', gap: space.m, paddingHorizontal: space.l },
  place: { flexGrow: 1, flexShrink: 1, flexBasis: 150 },
  across: { flexBasis: '100%' },
  fifth: { flexBasis: 0, minWidth: 150 },
  third: { flexBasis: '30%' },
})
