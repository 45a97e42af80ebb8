import { usePathname, useRouter } from 'expo-router'
import { useIsWide } from '../theme/use-theme.ts'

const ROUTES = {
  queue: '/queues/[queue]',
  fingerprint: '/failures/[fingerprint]',
  jobId: '/jobs/[jobId]',
  alertId: '/alerts/[alertId]',
  topic: '/topics/[topic]',
  workerId: '/workers/[workerId]',
  bulkOperationId: '/bulk-operations/[bulkOperationId]',
} as const

type Param = keyof typeof ROUTES

/**
 * Opens a detail: `useOpen('queue')('mail')`. Beside a list that is open already only the detail changes: the list
 * stays where it was scrolled to, and back leads out of both.
 */
export function useOpen(param: Param): (value: string) => void {
  const router = useRouter()
  const pathname = usePathname()
  const isWide = useIsWide()
  const section = ROUTES[param].replace(/\[.*$/, '')
  return (value) => {
    const params = { [param]: value }
    if (isWide && pathname.startsWith(section)) router.setParams(params)
    else router.push({ pathname: ROUTES[param], params })
  }
}
