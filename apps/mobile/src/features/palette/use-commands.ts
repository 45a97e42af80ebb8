import { isJobId } from '@oncue/sdk'
import { useRouter } from 'expo-router'
import { useToast } from '../../components/ui/toast.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { shortId } from '../../lib/format.ts'
import { usePreference } from '../../lib/preferences.ts'
import { useHealth } from '../../lib/use-health.ts'
import { usePausing } from '../queues/use-pausing.ts'
import { type Topic, topicList } from '../topics/queries.ts'
import { type Command, findCommands, PAGE_KEYS, PAGES } from './commands.ts'
import { jobsEndingWith } from './queries.ts'

interface Asks {
  readonly setText: (text: string) => void
  readonly enqueue: (topic: Topic) => void
  readonly showKeys: () => void
}

const THEMES = [
  ['light', 'Light theme'],
  ['dark', 'Dark theme'],
  ['system', 'System theme'],
] as const

const ENQUEUE = 'Enqueue '

/** What can be done with what was typed, the likeliest first. */
export function useCommands(text: string, asks: Asks): readonly Command[] {
  const router = useRouter()
  const typed = text.trim()
  const digits = typed.replace(/^…/, '').toLowerCase()
  const isSuffix = /^[0-9a-f-]{8,35}$/.test(digits)
  const ending = useRead(jobsEndingWith(digits, isSuffix))
  const standing = useStanding(asks)
  const openJob = (jobId: string) => router.push({ pathname: '/jobs/[jobId]', params: { jobId } })
  const jobs = isJobId(digits) ? [{ id: digits, topic: 'Job', queue: '' }] : (isSuffix && ending.data) || []
  return [
    ...jobs.map(
      ({ id, topic, queue }): Command => ({
        ...{ id: `job ${id}`, label: `${topic} ${shortId(id)}`, icon: 'jobs' },
        detail: queue === '' ? 'Job' : `Job in ${queue}`,
        run: () => openJob(id),
      }),
    ),
    ...findCommands(standing, text),
    ...(typed === ''
      ? []
      : [
          {
            ...{
              id: 'search',
              label: `Search jobs for “${typed}”`,
              icon: 'search' as const,
              detail: 'Search',
            },
            run: () => router.push({ pathname: '/jobs', params: { q: typed } }),
          },
        ]),
  ]
}

/** What does not depend on what is typed: pages, queues, topics, actions. */
function useStanding({ setText, enqueue, showKeys }: Asks): readonly Command[] {
  const router = useRouter()
  const toast = useToast()
  const queues = useHealth().data?.queues ?? []
  const topics = useRead(topicList).data ?? []
  const [, setTheme] = usePreference('theme')
  const { pause, resume } = usePausing()
  const lock = useLock()
  const enqueueLock = useLock('enqueue')
  const unless = (why: string | null, run: () => void) => () =>
    why === null ? run() : toast.show({ text: why, icon: 'lock' })
  return [
    ...PAGES.map(
      ({ href, label, icon }): Command => ({
        ...{ id: href, label, icon, detail: `Page · g ${PAGE_KEYS[href]}`, isUsual: true },
        run: () => router.navigate(href),
      }),
    ),
    ...queues.map(
      ({ queue }): Command => ({
        ...{ id: `queue ${queue}`, label: queue, icon: 'queues', detail: 'Queue' },
        run: () => router.push({ pathname: '/queues/[queue]', params: { queue } }),
      }),
    ),
    ...topics.map(
      ({ topic }): Command => ({
        ...{ id: `topic ${topic}`, label: topic, icon: 'topics', detail: 'Topic' },
        run: () => router.push({ pathname: '/topics/[topic]', params: { topic } }),
      }),
    ),
    {
      ...{ id: 'enqueue', label: 'Enqueue by hand…', icon: 'plus', detail: 'Action' },
      ...{ isUsual: true, staysOpen: true, run: () => setText(ENQUEUE) },
    },
    ...topics.map(
      (topic): Command => ({
        ...{
          id: `enqueue ${topic.topic}`,
          label: `${ENQUEUE}${topic.topic}`,
          icon: 'plus',
          detail: 'Action',
        },
        run: unless(enqueueLock, () => enqueue(topic)),
      }),
    ),
    ...queues.map(({ queue, paused }): Command => {
      const verb = paused ? 'Resume' : 'Pause'
      return {
        ...{ id: `pause ${queue}`, label: `${verb} queue ${queue}`, detail: 'Action' },
        icon: paused ? 'resume' : 'pause',
        run: unless(lock, () => void (paused ? resume(queue) : pause(queue))),
      }
    }),
    ...THEMES.map(
      ([theme, label]): Command => ({
        ...{ id: `theme ${theme}`, label, icon: 'settings', detail: 'Action', isUsual: true },
        run: () => setTheme(theme),
      }),
    ),
    {
      ...{ id: 'keys', label: 'Keys', icon: 'settings', detail: 'Help · ?' },
      ...{ isUsual: true, run: showKeys },
    },
  ]
}
