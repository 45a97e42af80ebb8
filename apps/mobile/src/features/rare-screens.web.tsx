import type { ComponentType } from 'react'
import { View } from 'react-native'
import { later as laterPart } from '../components/ui/later.tsx'
import { Skeleton, SkeletonRows } from '../components/ui/skeleton.tsx'

const Loading = () => (
  <View role="progressbar" aria-label="Loading">
    <Skeleton height={200} />
  </View>
)

const later = <Props extends object>(load: () => Promise<ComponentType<Props>>) =>
  laterPart(load, <SkeletonRows />)

export const ActivityScreen = later(
  async () => (await import('./activity/activity-screen.tsx')).ActivityScreen,
)
export const BulkOperationScreen = later(
  async () => (await import('./bulk-operations/bulk-operation-screen.tsx')).BulkOperationScreen,
)
export const BulkOperationsScreen = later(
  async () => (await import('./bulk-operations/bulk-operations-screen.tsx')).BulkOperationsScreen,
)
export const ChannelList = later(async () => (await import('./alerts/channel-list.tsx')).ChannelList)
export const DatabaseScreen = later(
  async () => (await import('./database/database-screen.tsx')).DatabaseScreen,
)
export const EditPayloadSheet = laterPart(
  async () => (await import('./jobs/edit-payload-sheet.tsx')).EditPayloadSheet,
  null,
)
export const IncidentSheet = laterPart(
  async () => (await import('./incident/incident-sheet.tsx')).IncidentSheet,
  null,
)
export const JobFamily = laterPart(async () => (await import('./jobs/job-family.tsx')).JobFamily, null)
export const JobTimeline = laterPart(
  async () => (await import('./jobs/timeline-view.tsx')).JobTimeline,
  <Loading />,
)
export const LimitSheet = laterPart(async () => (await import('./queues/limit-sheet.tsx')).LimitSheet, null)
export const QuestionsScreen = later(
  async () => (await import('./questions/questions-screen.tsx')).QuestionsScreen,
)
export const RuleList = later(async () => (await import('./alerts/rule-list.tsx')).RuleList)
export const SchedulesScreen = later(
  async () => (await import('./schedules/schedules-screen.tsx')).SchedulesScreen,
)
export const ServerSettingsScreen = later(
  async () => (await import('./server-settings/server-settings-screen.tsx')).ServerSettingsScreen,
)
export const SettingsScreen = later(
  async () => (await import('./settings/settings-screen.tsx')).SettingsScreen,
)
export const TokensScreen = later(async () => (await import('./tokens/tokens-screen.tsx')).TokensScreen)
export const TopicScreen = later(async () => (await import('./topics/topic-screen.tsx')).TopicScreen)
export const TopicsScreen = later(async () => (await import('./topics/topics-screen.tsx')).TopicsScreen)
export const WorkerScreen = later(async () => (await import('./workers/worker-screen.tsx')).WorkerScreen)
export const WorkersScreen = later(async () => (await import('./workers/workers-screen.tsx')).WorkersScreen)
