import { useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { STATES, StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { useServerNow } from '../../lib/clock.ts'
import type { Health } from '../../lib/connection-provider.tsx'
import { age, count, duration, moment, number, rate } from '../../lib/format.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { TopErrors } from '../failures/top-errors.tsx'
import { QueueCharts } from '../lazy-charts.tsx'
import { LimitSheet } from '../rare-screens.tsx'
import { limitInWords } from './limit-form.ts'
import { PauseSheet } from './pause-sheet.tsx'
import { queueStats } from './queries.ts'
import type { QueueHealth } from './queue-row.tsx'
import { QueueTiles } from './queue-tiles.tsx'
import { QueueWorkers } from './queue-workers.tsx'
import { ALERT_QUEUE, usePausing } from './use-pausing.ts'
import { WhyQueueWaits } from './why-queue-waits.tsx'

/** One queue: its state, its history and its actions. */
export function QueueScreen({ queue }: { readonly queue: string }) {
  const read = useHealth()
  const found = read.data?.queues.find((each) => each.queue === queue)
  const isOwn = queue === ALERT_QUEUE
  return (
    <Page
      title={queue}
      parent="/queues"
      onRefresh={() => void read.refetch()}
      {...(found && { badge: <StateWord state={found.state} />, bar: <Actions queue={found} /> })}
      {...(isOwn && read.data && { bar: <Actions queue={{ queue, ...read.data.delivery }} /> })}
    >
      <ReadState read={read} skeleton={<Loading />}>
        {(health) =>
          isOwn ? (
            <AlertQueue delivery={health.delivery} />
          ) : (
            <Content queue={queue} found={found} health={health} />
          )
        }
      </ReadState>
    </Page>
  )
}

interface ContentProps {
  readonly queue: string
  readonly found: QueueHealth | undefined
  readonly health: Health
}

/** Oncue's own queue for alerts. Health reports fewer numbers for it. */
function AlertQueue({ delivery }: { readonly delivery: Health['delivery'] }) {
  const now = useServerNow()
  const { waiting, oldestWaiting, paused } = delivery
  const oldest = oldestWaiting && `, the oldest for ${age(oldestWaiting, now)}`
  return (
    <>
      {paused && <PausedBanner paused={paused} />}
      <View style={styles.content}>
        <Text>{`This queue sends all alerts. ${paused ? 'None are sent until it is resumed. ' : ''}${count(waiting, 'job')} waiting${oldest ?? ''}.`}</Text>
        <Section title="Jobs">
          <StateChips queue={ALERT_QUEUE} />
        </Section>
        <Limits queue={ALERT_QUEUE} limit={delivery.limit} />
      </View>
    </>
  )
}

function Limits({ queue, limit }: Pick<QueueHealth, 'queue' | 'limit'>) {
  const [isLimiting, setLimiting] = useState(false)
  const lock = useLock(queue === ALERT_QUEUE ? 'admin' : 'act')
  return (
    <Section title="Limits">
      <View style={styles.limit}>
        <Text style={styles.words}>{capital(limitInWords(limit))}</Text>
        <Button label="Change" lock={lock} onPress={() => setLimiting(true)} />
      </View>
      {isLimiting && <LimitSheet queue={queue} limit={limit} onClose={() => setLimiting(false)} />}
    </Section>
  )
}

function Content({ queue, found, health }: ContentProps) {
  if (!found)
    return (
      <EmptyState
        icon="idle"
        title="Nothing here now"
        text={
          health.others.queues > 0
            ? `“${queue}” is not among the ${count(health.queues.length, 'queue')} with the most problems.`
            : `No job waits in “${queue}”, and no worker serves it.`
        }
      />
    )
  return (
    <>
      {found.paused && <PausedBanner paused={found.paused} />}
      <View style={styles.content}>
        <QueueTiles queue={found} thresholds={health.thresholds} />
        <WhyQueueWaits queue={queue} isWaiting={found.waiting > 0} pace={drainInWords(found)} />
        <Section title="Jobs">
          <StateChips queue={queue} />
        </Section>
      </View>
      <View style={styles.errors}>
        <TopErrors queue={queue} />
      </View>
      <View style={styles.content}>
        <QueueCharts queue={queue} lateAfterMs={health.thresholds.oldestWaitingSeconds * 1_000} />
        <Limits queue={queue} limit={found.limit} />
        <Text variant="heading" level={2}>
          Workers
        </Text>
      </View>
      <QueueWorkers queue={queue} />
    </>
  )
}

const MINUTE_MS = 60_000

/** "2 slots busy, 9.8/min: empty in about 7 min". */
function drainInWords({ running, throughput, drainMs }: QueueHealth): string {
  const pace = `${count(running, 'slot')} busy, ${rate(throughput)}/min`
  if (drainMs === null) return `${pace}: the backlog does not shrink`
  const unit = drainMs < MINUTE_MS ? 1_000 : MINUTE_MS
  return `${pace}: empty in about ${duration(Math.ceil(drainMs / unit) * unit)}`
}

function PausedBanner({ paused }: { readonly paused: NonNullable<QueueHealth['paused']> }) {
  const now = useServerNow()
  const by = paused.by === null ? '' : ` by ${paused.by}`
  return (
    <Banner
      tone="paused"
      icon="pause"
      text={`Paused${by}, ${age(paused.at, now)}`}
      detail={`Since ${moment(paused.at)}${paused.until ? ` until ${moment(paused.until)}` : ''}. Running jobs finish; no new ones start.`}
    />
  )
}

const SHOWN = [
  'waiting',
  'retrying',
  'scheduled',
  'suspended',
  'processing',
  'failed',
  'blocked',
  'completed',
  'cancelled',
] as const

/** How many jobs are in each state. A press lists them. */
function StateChips({ queue }: { readonly queue: string }) {
  const router = useRouter()
  const health = useHealth().data?.queues.find((each) => each.queue === queue)
  // As in the tiles above, which are newer: the same thing has one number on a page.
  const tiles = health && { waiting: health.waiting, processing: health.running }
  const read = useRead(queueStats(queue))
  return (
    <ReadState read={read} skeleton={<Skeleton height={36} />}>
      {(stats) => (
        <View style={styles.chips}>
          {SHOWN.map((status) => (
            <Chip
              key={status}
              label={`${STATES[status].word} ${number({ ...stats, ...tiles }[status])}`}
              icon={STATES[status].icon}
              onPress={() => router.push({ pathname: '/jobs', params: { queue, status } })}
            />
          ))}
        </View>
      )}
    </ReadState>
  )
}

function Actions({ queue: { queue, paused } }: { readonly queue: Pick<QueueHealth, 'queue' | 'paused'> }) {
  const { pause, resume, isRunning } = usePausing()
  const lock = useLock()
  const pauseLock = useLock(queue === ALERT_QUEUE ? 'admin' : 'act')
  const router = useRouter()
  const [isChoosing, setChoosing] = useState(false)
  return (
    <ActionBar>
      {paused ? (
        <Button
          label="Resume"
          icon="resume"
          variant="primary"
          lock={lock}
          isBusy={isRunning}
          onPress={() => void resume(queue, paused.until)}
        />
      ) : (
        <>
          <Button
            label="Pause"
            icon="pause"
            lock={pauseLock}
            isBusy={isRunning}
            onPress={() => void pause(queue)}
          />
          <Button label="Pause for…" icon="late" lock={pauseLock} onPress={() => setChoosing(true)} />
        </>
      )}
      <Button
        label="All jobs"
        icon="jobs"
        variant="quiet"
        onPress={() => router.push({ pathname: '/jobs', params: { queue } })}
      />
      {isChoosing && (
        <PauseSheet
          queue={queue}
          onClose={() => setChoosing(false)}
          onChoose={(forSeconds) => void pause(queue, forSeconds)}
        />
      )}
    </ActionBar>
  )
}

function Section({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <View style={styles.section}>
      <Text variant="heading" level={2}>
        {title}
      </Text>
      {children}
    </View>
  )
}

function Loading() {
  return (
    <View role="progressbar" aria-label="Loading" style={styles.content}>
      <Skeleton height={120} />
      <Skeleton height={36} />
      <Skeleton height={220} />
    </View>
  )
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, paddingTop: space.m, gap: space.xl },
  errors: { paddingTop: space.l },
  section: { gap: space.m },
  chips: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.s },
  limit: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.m },
  words: { flex: 1, minWidth: 160 },
})
