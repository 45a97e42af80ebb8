import { useRouter } from 'expo-router'
import { type ReactNode, useState } from 'react'
import { StyleSheet, useWindowDimensions, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button, Tight } from '../../components/ui/button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Text } from '../../components/ui/text.tsx'
import { type Health, useIsOffline } from '../../lib/connection-provider.tsx'
import { count, percent } from '../../lib/format.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { radius, space, toneOf } from '../../theme/tokens.ts'
import { useIsDesk, useIsWide, useTheme } from '../../theme/use-theme.ts'
import { FailureRow } from '../failures/failure-row.tsx'
import { NowCharts } from '../lazy-charts.tsx'
import { EndSilence, isSilent } from '../queues/silence.tsx'
import { IncidentSheet } from '../rare-screens.tsx'
import { NowTiles, TileSkeletons } from './now-tiles.tsx'
import { Spoken } from './spoken.tsx'
import { TroubleRow, troubledOf } from './trouble-row.tsx'

/** Whether something is wrong, and where to look first. Needs one request, and then the stream. */
export function NowScreen() {
  const read = useHealth()
  return (
    <Page title="Now" onRefresh={() => void read.refetch()}>
      <ReadState read={read} skeleton={<TileSkeletons />}>
        {(health) => (
          <View style={styles.content}>
            <Sentence health={health} />
            <Picture health={health} />
          </View>
        )}
      </ReadState>
    </Page>
  )
}

/** From here on charts and what is wrong stand side by side. */
const BESIDE = 1_400

/** On a phone what is wrong comes before the numbers, which fill its screen; on a desk there are charts too. */
function Picture({ health }: { readonly health: Health }) {
  const isWide = useIsWide()
  const isDesk = useIsDesk()
  const hasRoom = useWindowDimensions().width >= BESIDE
  const isCalm = troubledOf(health.queues).length === 0 && health.failures.length === 0
  const areTilesFirst = isWide || isCalm
  const isBeside = hasRoom && !isCalm
  const { thresholds, queues } = health
  return (
    <>
      {areTilesFirst && <NowTiles health={health} />}
      <View style={isBeside ? styles.beside : styles.content}>
        <View style={isBeside && styles.aside}>
          <Below health={health} isColumn={isBeside} />
        </View>
        {isDesk && queues.length > 0 && (
          <View style={isBeside && styles.main}>
            <NowCharts thresholds={thresholds} />
          </View>
        )}
      </View>
      {!areTilesFirst && <NowTiles health={health} />}
    </>
  )
}

const LOOKS = {
  good: { icon: 'good', tone: 'good' },
  warn: { icon: 'warn', tone: 'warn' },
  bad: { icon: 'failures', tone: 'bad' },
} as const

const UNKNOWN = { icon: 'offline', tone: 'neutral' } as const

/** The state of everything in one sentence, and the alerts that fire. */
function Sentence({ health }: { readonly health: Health }) {
  const { summary, alerts, questions } = health
  const { colors } = useTheme()
  const router = useRouter()
  const failureRate = rateOverLimit(health)
  // The total may be over the limit while each queue ran too few jobs to judge.
  const isGoodSoFar = summary.level === 'good' && failureRate !== null
  const isOffline = useIsOffline()
  const isPhone = !useIsWide()
  const { icon, tone } = isOffline ? UNKNOWN : LOOKS[isGoodSoFar ? 'warn' : summary.level]
  const text = isGoodSoFar ? failedInWords(failureRate) : summary.text
  const { ink, wash } = toneOf(colors, tone)
  const known = [
    alerts.acked > 0 && `${alerts.acked} acknowledged`,
    alerts.snoozed > 0 && `${alerts.snoozed} snoozed`,
  ].filter(Boolean)
  return (
    <View style={[styles.sentence, { backgroundColor: wash }]}>
      <Icon name={icon} size={28} ink={ink} />
      <View style={[styles.words, !isPhone && styles.sentenceWords]}>
        <Text variant="title" level={2}>
          {isOffline ? `Last known: ${text}` : text}
        </Text>
        {known.length > 0 && (
          <Text variant="small" color="text">
            Alerts: {known.join(', ')}
          </Text>
        )}
      </View>
      {/* On a phone the first two in one row. */}
      <Tight.Provider value={isPhone}>
        <View style={styles.buttons}>
          {isSilent(health) && <EndSilence health={health} />}
          {alerts.firing > 0 && (
            <Button
              label={`${count(alerts.firing, 'alert')} firing`}
              icon="alerts"
              onPress={() => router.navigate('/alerts')}
            />
          )}
          {summary.level !== 'good' && <Summary health={health} />}
          {questions > 0 && (
            <Button
              label={count(questions, 'question')}
              icon="questions"
              hint="Jobs wait for an answer"
              onPress={() => router.navigate('/questions')}
            />
          )}
        </View>
      </Tight.Provider>
      <Spoken text={text} />
    </View>
  )
}

function Summary({ health }: { readonly health: Health }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button label="Summary" icon="copy" hint="To paste into a chat" onPress={() => setOpen(true)} />
      {isOpen && (
        <IncidentSheet health={health} queues={troubledOf(health.queues)} onClose={() => setOpen(false)} />
      )}
    </>
  )
}

/** The share of runs that failed, while it is over its limit. */
function rateOverLimit({ failureRate, thresholds }: Health): number | null {
  const { value } = failureRate
  return value !== null && value >= thresholds.failureRate ? value : null
}

const failedInWords = (rate: number) => `${percent(rate)} of runs failed in the last 15 min`

interface BelowProps {
  readonly health: Health
  /** One below the other. */
  readonly isColumn: boolean
}

function Below({ health, isColumn }: BelowProps) {
  const isInColumns = useIsWide() && !isColumn
  const openGroup = useOpen('fingerprint')
  const troubled = troubledOf(health.queues)
  const { failures, queues } = health
  if (queues.length === 0 && failures.length === 0)
    return <Calm icon="idle" text="No jobs yet. Enqueue one and it appears here." />
  const failureRate = rateOverLimit(health)
  if (troubled.length === 0 && failures.length === 0 && failureRate === null)
    return (
      <Calm
        icon="good"
        text={`${queues.length === 1 ? 'The queue is' : `All ${count(queues.length, 'queue')} are`} fine. No run fails now, and no job gave up in the last hour.`}
      />
    )
  return (
    <View style={[styles.sections, isInColumns && styles.columns]}>
      <Section
        title="Queues with problems"
        isInColumns={isInColumns}
        fine={troubled.length === 0 && 'Every queue is fine.'}
      >
        {troubled.map((queue) => (
          <TroubleRow key={queue.queue} queue={queue} />
        ))}
      </Section>
      <Section title="Errors" isInColumns={isInColumns} fine={failures.length === 0 && noErrors(failureRate)}>
        {failures.map((group) => (
          <FailureRow key={group.fingerprint} group={group} onPress={() => openGroup(group.fingerprint)} />
        ))}
      </Section>
    </View>
  )
}

/** Why there may be no error although runs failed: a job that completed since leaves none. */
function noErrors(failureRate: number | null): string {
  if (failureRate === null) return 'No run fails now, and no job gave up in the last hour.'
  return `${failedInWords(failureRate)}. None of their jobs is failing now.`
}

interface SectionProps {
  readonly title: string
  /** Shown when there is nothing to list. */
  readonly fine: string | false
  readonly isInColumns: boolean
  readonly children: ReactNode
}

function Section({ title, fine, isInColumns, children }: SectionProps) {
  return (
    <View style={[styles.section, isInColumns && styles.column]}>
      <View style={styles.heading}>
        <Text variant="heading" level={2}>
          {title}
        </Text>
        {fine !== false && (
          <Text variant="label" color="textMuted">
            {fine}
          </Text>
        )}
      </View>
      {children}
    </View>
  )
}

function Calm({ icon, text }: { readonly icon: 'good' | 'idle'; readonly text: string }) {
  return (
    <View style={styles.calm}>
      <Icon name={icon} color="textMuted" />
      <Text color="textMuted" style={styles.words}>
        {text}
      </Text>
    </View>
  )
}

const styles = StyleSheet.create({
  content: { gap: space.l },
  // What is wrong is read first, and stands at the side of a page that is read from left to right.
  beside: { flexDirection: 'row-reverse', alignItems: 'flex-start' },
  aside: { flexGrow: 1, flexShrink: 1, flexBasis: 0, minWidth: 0 },
  main: { flexGrow: 2, flexShrink: 1, flexBasis: 0, minWidth: 0 },
  sentence: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.m,
    marginHorizontal: space.l,
    padding: space.l,
    borderRadius: radius.l,
  },
  // Too wide for a button beside them on a phone: the words keep their place whatever the buttons say.
  words: { flexGrow: 1, flexShrink: 1, flexBasis: 200, minWidth: 120, gap: 2 },
  // Beside three buttons a small window would break it into three lines: there all of them stand below it.
  sentenceWords: { flexBasis: 320 },
  buttons: { flexDirection: 'row', flexWrap: 'wrap', gap: space.m, maxWidth: '100%' },
  sections: { gap: space.xl },
  columns: { flexDirection: 'row', gap: space.l },
  section: { flexGrow: 1, flexShrink: 1, flexBasis: 'auto', minWidth: 0 },
  column: { flexBasis: 0 },
  heading: { paddingHorizontal: space.l, paddingBottom: space.s, gap: space.xs },
  calm: { flexDirection: 'row', alignItems: 'center', gap: space.m, paddingHorizontal: space.xl },
})
