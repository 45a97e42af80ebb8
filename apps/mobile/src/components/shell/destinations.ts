import type { Href } from 'expo-router'
import type { IconName } from '../ui/icon.tsx'

export interface Destination {
  readonly href: Href & string
  readonly label: string
  readonly icon: IconName
}

/** In reach of a thumb, in this order. */
export const TABS: readonly Destination[] = [
  { href: '/', label: 'Now', icon: 'now' },
  { href: '/failures', label: 'Failures', icon: 'failures' },
  { href: '/queues', label: 'Queues', icon: 'queues' },
  { href: '/alerts', label: 'Alerts', icon: 'alerts' },
]

/** In the rail where there is one, in the settings on a phone. */
export const MORE: readonly Destination[] = [
  { href: '/jobs', label: 'Jobs', icon: 'jobs' },
  { href: '/workers', label: 'Workers', icon: 'workers' },
  { href: '/schedules', label: 'Schedules', icon: 'schedules' },
  { href: '/bulk-operations', label: 'Bulk operations', icon: 'requeue' },
  { href: '/activity', label: 'Activity', icon: 'activity' },
]

/** `/queues/mail` belongs to Queues. */
export function isWithin(pathname: string, href: string): boolean {
  return href === '/' ? pathname === '/' : pathname === href || pathname.startsWith(`${href}/`)
}
