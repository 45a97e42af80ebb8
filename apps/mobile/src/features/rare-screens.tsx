/** Screens that few people open. A phone has them already; a browser loads each when it is opened. */
export { ActivityScreen } from './activity/activity-screen.tsx'
export { SchedulesScreen } from './schedules/schedules-screen.tsx'
export { ServerSettingsScreen } from './server-settings/server-settings-screen.tsx'
export { TokensScreen } from './tokens/tokens-screen.tsx'
export { TopicScreen } from './topics/topic-screen.tsx'
export { TopicsScreen } from './topics/topics-screen.tsx'
export { WorkerScreen } from './workers/worker-screen.tsx'
export { WorkersScreen } from './workers/workers-screen.tsx'
