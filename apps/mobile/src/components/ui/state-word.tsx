import { StyleSheet, View } from 'react-native'
import { radius, space, type Tone, toneOf } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { Icon, type IconName } from './icon.tsx'
import { Text } from './text.tsx'

interface Look {
  readonly word: string
  readonly tone: Tone
  readonly icon: IconName
}

/** Every state there is: of jobs, queues, alerts and bulk operations. */
export const STATES = {
  // Jobs
  blocked: { word: 'Blocked', tone: 'neutral', icon: 'blocked' },
  pending: { word: 'Waiting', tone: 'neutral', icon: 'waiting' },
  waiting: { word: 'Waiting', tone: 'neutral', icon: 'waiting' },
  retrying: { word: 'Retrying', tone: 'warn', icon: 'requeue' },
  scheduled: { word: 'Scheduled', tone: 'neutral', icon: 'schedules' },
  suspended: { word: 'Suspended', tone: 'paused', icon: 'suspended' },
  undoing: { word: 'Undoing', tone: 'warn', icon: 'requeue' },
  processing: { word: 'Running', tone: 'accent', icon: 'running' },
  completed: { word: 'Completed', tone: 'good', icon: 'good' },
  failed: { word: 'Failed', tone: 'bad', icon: 'bad' },
  cancelled: { word: 'Cancelled', tone: 'neutral', icon: 'cancel' },
  // Queues
  stalled: { word: 'Stalled', tone: 'bad', icon: 'stalled' },
  late: { word: 'Late', tone: 'bad', icon: 'late' },
  failing: { word: 'Failing', tone: 'bad', icon: 'failures' },
  paused: { word: 'Paused', tone: 'paused', icon: 'pause' },
  ok: { word: 'Fine', tone: 'good', icon: 'good' },
  idle: { word: 'Idle', tone: 'neutral', icon: 'idle' },
  // Alerts
  firing: { word: 'Firing', tone: 'bad', icon: 'alerts' },
  acked: { word: 'Acknowledged', tone: 'warn', icon: 'acked' },
  snoozed: { word: 'Snoozed', tone: 'paused', icon: 'snooze' },
  resolved: { word: 'Resolved', tone: 'good', icon: 'good' },
  // Bulk operations, workers
  running: { word: 'Running', tone: 'accent', icon: 'running' },
  failedAgain: { word: 'Failed again', tone: 'bad', icon: 'bad' },
  canary: { word: 'Trying first', tone: 'accent', icon: 'running' },
  stopped: { word: 'Stopped', tone: 'warn', icon: 'stop' },
  alive: { word: 'Alive', tone: 'good', icon: 'good' },
  missing: { word: 'Missing', tone: 'bad', icon: 'bad' },
  lost: { word: 'Lost', tone: 'bad', icon: 'bad' },
} as const satisfies Record<string, Look>

export type StateName = keyof typeof STATES

interface StateWordProps {
  readonly state: StateName
  readonly word?: string
  readonly icon?: IconName
}

/** An icon and a word in the state's colour, so that colour is never the only hint. */
export function StateWord({ state, word, icon }: StateWordProps) {
  const { colors } = useTheme()
  const look = STATES[state]
  const { ink, wash } = toneOf(colors, look.tone)
  return (
    <View style={styles.line}>
      <View style={[styles.badge, { backgroundColor: wash }]}>
        <Icon name={icon ?? look.icon} size={14} ink={ink} />
        <Text variant="overline" style={{ color: ink }}>
          {word ?? look.word}
        </Text>
      </View>
    </View>
  )
}

const styles = StyleSheet.create({
  /** As wide as its word, in rows and columns alike. */
  line: { flexDirection: 'row' },
  badge: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.xs,
    borderRadius: radius.s,
    paddingHorizontal: 6,
    paddingVertical: 3,
  },
})
