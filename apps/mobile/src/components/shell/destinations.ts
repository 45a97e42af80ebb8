import type { Href } from 'expo-router'
import type { IconName } from '../ui/icon.tsx'

export interface Destination {
  readonly href: Href & string
  readonly label: string
  readonly icon: IconName
}

const JOBS: Destination = { href: '/jobs', label: 'Jobs', icon: 'jobs' }

/** Screens that stay as they were left. */
export const TABS = [
  { href: '/', label: 'Now', icon: 'now' },
  { href: '/failures', label: 'Failures', icon: 'failures' },
  { href: '/queues', label: 'Queues', icon: 'queues' },
  { href: '/alerts', label: 'Alerts', icon: 'alerts' },
] as const satisfies readonly Destination[]

const [NOW, FAILURES, QUEUES, ALERTS] = TABS

/** The most used screens: first in the rail, and in the tab bar of a phone. */
export const MAIN: readonly Destination[] = [NOW, FAILURES, JOBS, QUEUES, ALERTS]

/** What jobs ask people. */
export const QUESTIONS: Destination = { href: '/questions', label: 'Questions', icon: 'questions' }

/** The entry of a phone's tab bar that leads to all other screens. */
export const OTHERS: Destination = { href: '/settings', label: 'More', icon: 'more' }

/** In the rail where there is one, in the settings on a phone. */
export const MORE: readonly Destination[] = [
  QUESTIONS,
  { href: '/workers', label: 'Workers', icon: 'workers' },
  { href: '/topics', label: 'Topics', icon: 'topics' },
  { href: '/schedules', label: 'Schedules', icon: 'schedules' },
  { href: '/bulk-operations', label: 'Bulk operations', icon: 'requeue' },
  { href: '/activity', label: 'Activity', icon: 'activity' },
  { href: '/database', label: 'Database', icon: 'database' },
]

/** For admins, in the settings. */
export const ADMINISTRATION: readonly Destination[] = [
  { href: '/tokens', label: 'Tokens', icon: 'token' },
  { href: '/server-settings', label: 'Server settings', icon: 'server' },
]

/** `/queues/mail` belongs to Queues. */
export function isWithin(pathname: string, href: string): boolean {
  return href === '/' ? pathname === '/' : pathname === href || pathname.startsWith(`${href}/`)
}
