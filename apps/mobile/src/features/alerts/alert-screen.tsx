import { useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Fact } from '../../components/ui/fact.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { duration, moment, unbroken } from '../../lib/format.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useKeyboard } from '../../lib/use-keyboard.ts'
import { useOpen } from '../../lib/use-open.ts'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { TopErrors } from '../failures/top-errors.tsx'
import { troubledOf } from '../now/trouble-row.tsx'
import { WhyQueueWaits } from '../queues/why-queue-waits.tsx'
import { IncidentSheet } from '../rare-screens.tsx'
import { type Alert, alertRules, oneAlert } from './queries.ts'
import { SnoozeSheet } from './snooze-sheet.tsx'
import { useAlertActs } from './use-alert-acts.ts'
import { conditionOf, KINDS, limitOf, placeOf } from './words.ts'

/** One alert: how far over its limit, since when, who acknowledged it, and where to look. */
export function AlertScreen({ alertId }: { readonly alertId: string }) {
  const read = useRead(oneAlert(alertId))
  const alert = read.data
  return (
    <Page
      title={alert ? KINDS[alert.kind].title : 'Alert'}
      parent="/alerts"
      badge={alert && <StateWord state={alert.state} />}
      onRefresh={() => void read.refetch()}
      actions={alert && <Summary alert={alert} />}
      bar={alert && alert.state !== 'resolved' && <Actions alert={alert} />}
    >
      <ReadState read={read}>{(shown) => <Shown alert={shown} />}</ReadState>
    </Page>
  )
}

/** What is wrong everywhere, with this alert at its head, to be pasted into a chat. */
function Summary({ alert }: { readonly alert: Alert }) {
  const [isOpen, setOpen] = useState(false)
  const { data: health } = useHealth()
  return (
    <>
      <Button
        label="Summary"
        icon="copy"
        variant="quiet"
        hint="An incident summary to copy"
        needs={health ? null : 'Nothing is known yet.'}
        onPress={() => setOpen(true)}
      />
      {isOpen && health && (
        <IncidentSheet
          alert={alert}
          health={health}
          queues={troubledOf(health.queues)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function Actions({ alert }: { readonly alert: Alert }) {
  const acts = useAlertActs()
  const lock = useLock()
  const [isChoosing, setChoosing] = useState(false)
  useKeyboard({ a: () => lock === null && !alert.acked && void acts.ack(alert) })
  return (
    <ActionBar>
      {alert.acked ? (
        <Button
          label="Unacknowledge"
          icon="requeue"
          lock={lock}
          isBusy={acts.isRunning}
          onPress={() => void acts.unack(alert)}
        />
      ) : (
        <Button
          label="Acknowledge"
          icon="acked"
          variant="primary"
          lock={lock}
          isBusy={acts.isRunning}
          hint="No more notifications until it is resolved"
          onPress={() => void acts.ack(alert)}
        />
      )}
      <Button label="Snooze" icon="snooze" lock={lock} onPress={() => setChoosing(true)} />
      {alert.state === 'snoozed' && (
        <Button
          label="Unsnooze"
          icon="alerts"
          lock={lock}
          isBusy={acts.isRunning}
          onPress={() => void acts.unsnooze(alert)}
        />
      )}
      {isChoosing && (
        <SnoozeSheet
          onClose={() => setChoosing(false)}
          onChoose={(until) => void acts.snooze(alert, until)}
        />
      )}
    </ActionBar>
  )
}

function Shown({ alert }: { readonly alert: Alert }) {
  return (
    <>
      <About alert={alert} />
      {alert.state !== 'resolved' && <WhyItWaits alert={alert} />}
      {alert.state !== 'resolved' && (
        <View style={styles.errors}>
          <TopErrors queue={alert.queue} />
        </View>
      )}
    </>
  )
}

/** Kinds that are about jobs which do not start. */
const OF_WAITING: readonly Alert['kind'][] = ['oldest_waiting', 'stalled', 'paused', 'no_workers']
/** Each is a request: more have the same cause. */
const MAX_EXPLAINED = 3

function WhyItWaits({ alert: { kind, queue, queues } }: { readonly alert: Alert }) {
  const named = queues.length > 0 ? queues : queue === null ? [] : [queue]
  if (!OF_WAITING.includes(kind) || named.length === 0) return null
  return (
    <View style={[styles.content, styles.why]}>
      {named.slice(0, MAX_EXPLAINED).map((name) => (
        <WhyQueueWaits key={name} queue={name} isWaiting />
      ))}
    </View>
  )
}

function About({ alert }: { readonly alert: Alert }) {
  const { colors } = useTheme()
  const openQueue = useOpen('queue')
  const router = useRouter()
  const openFailures = useOpen('fingerprint')
  const { kind, queue, queues, fingerprint, state, summary, value, threshold } = alert
  const { measure, what } = KINDS[kind]
  const limit = limitOf(kind, threshold)
  const named = queues.length > 0 ? queues : queue === null ? [] : [queue]
  const isOver = state !== 'resolved'
  return (
    <View style={styles.content}>
      <Text variant="title" level={2}>
        {unbroken(summary)}
      </Text>
      <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
        <View accessible aria-label={`${measure(value)} ${what}, the limit is ${limit}`}>
          <Text variant="hero" color={isOver ? 'bad' : 'text'}>
            {measure(value)}
          </Text>
          <Text variant="label" color="textMuted">
            {isOver ? what : `${what}, at the last check`}
          </Text>
          <Text variant="label">{`The limit is ${limit}`}</Text>
        </View>
      </View>
      <View>
        <Facts alert={alert} />
        {fingerprint !== null && (
          <Row
            label="Open the failures"
            leading={<Icon name="failures" color="textMuted" />}
            onPress={() => openFailures(fingerprint)}
          >
            <Text variant="heading">Failures</Text>
            <Text variant="small" color="textMuted">
              Jobs that failed with this error
            </Text>
          </Row>
        )}
        {named.map((name) => (
          <Row
            key={name}
            label={`Open queue ${name}`}
            leading={<Icon name="queues" color="textMuted" />}
            onPress={() => openQueue(name)}
          >
            <Text variant="heading">{name}</Text>
            <Text variant="small" color="textMuted">
              Open the queue
            </Text>
          </Row>
        ))}
        {kind === 'no_workers' && (
          <Row
            label="Open workers"
            leading={<Icon name="workers" color="textMuted" />}
            onPress={() => router.push('/workers')}
          >
            <Text variant="heading">Workers</Text>
            <Text variant="small" color="textMuted">
              Which are alive, and which are missing
            </Text>
          </Row>
        )}
      </View>
    </View>
  )
}

function Facts({ alert }: { readonly alert: Alert }) {
  const { firedAt, resolvedAt, acked, snoozed } = alert
  const rules = useRead(alertRules)
  const rule = rules.data?.find(({ id }) => id === alert.ruleId)
  const since = (
    <Text>
      {moment(firedAt)}
      {!resolvedAt && ', for '}
      {!resolvedAt && <Age from={firedAt} />}
    </Text>
  )
  const lasted = resolvedAt && duration(resolvedAt.getTime() - firedAt.getTime())
  return (
    <>
      <Fact name="Firing since" value={since} />
      {resolvedAt && <Fact name="Resolved" value={`${moment(resolvedAt)}, after ${lasted}`} />}
      {acked && <Fact name="Acknowledged by" value={`${acked.by}, ${moment(acked.at)}`} />}
      {snoozed && <Fact name="Snoozed by" value={`${snoozed.by}, until ${moment(snoozed.until)}`} />}
      {!acked && !snoozed && !resolvedAt && <Fact name="Acknowledged by" value="no one" />}
      {rules.data && (
        <Fact
          name="Rule"
          value={rule ? `${rule.name}: ${conditionOf(rule)} (${placeOf(rule)})` : 'deleted'}
        />
      )}
    </>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, gap: space.l },
  why: { paddingTop: space.l },
  errors: { paddingTop: space.l },
  card: { borderRadius: radius.l, borderWidth: 1, padding: space.xl },
})
