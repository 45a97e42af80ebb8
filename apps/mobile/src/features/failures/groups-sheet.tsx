import type { Outputs } from '@oncue/sdk'
import { useRouter } from 'expo-router'
import { useState } from 'react'
import { EnvironmentBadge } from '../../components/shell/environment-badge.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { type Read, useAct, useRead } from '../../lib/api.tsx'
import { count, number } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { ConfirmButton, newKey, stay } from '../bulk-operations/confirm-sheet.tsx'
import { TOUCHED } from '../bulk-operations/queries.ts'
import { type Action, jobs, phraseOf, VERBS } from '../bulk-operations/words.ts'
import { errorOf, type FailureGroup, targetOf } from './queries.ts'

export interface GroupsSheetProps {
  readonly action: Action
  readonly groups: readonly FailureGroup[]
  readonly onClose: () => void
  readonly onDone: () => void
}

type Preview = Outputs['bulkOperations']['preview']

/** Asks before an action on several groups: one bulk operation each. Open while it is mounted. */
export function GroupsSheet({ action, groups, onClose, onDone }: GroupsSheetProps) {
  // One key for each sheet: pressed again after a lost response, no operation starts twice.
  const [look] = useState(newKey)
  const [problem, setProblem] = useState<string | null>(null)
  const toast = useToast()
  const router = useRouter()
  const read = useRead(previews(action, groups, look))
  const begin = useAct(
    async (client, found: readonly Preview[]) => {
      let begun = 0
      for (const [index, { fingerprint }] of groups.entries()) {
        const { asOf, count: expectedCount } = found[index] ?? { asOf: new Date(0), count: 0 }
        if (expectedCount === 0) continue
        const filter = targetOf(action, fingerprint)
        const idempotencyKey = `${look}-${fingerprint}`
        await client.bulkOperations.run({
          ...{ action, filter, asOf, expectedCount, idempotencyKey, spreadSeconds: 0 },
        })
        begun += 1
      }
      return begun
    },
    { touches: TOUCHED },
  )
  const confirm = async (found: readonly Preview[]) => {
    setProblem(null)
    try {
      const begun = await begin.run(found)
      felt('done')
      onDone()
      toast.show({
        ...{ text: `${count(begun, 'bulk operation')} started`, icon: 'check' },
        open: () => router.push('/bulk-operations'),
      })
    } catch (error) {
      felt('refused')
      setProblem(describeProblem(error).text)
    }
  }
  const total = read.data?.reduce((sum, each) => sum + each.count, 0)
  return (
    <Sheet
      isOpen
      title={
        total === undefined
          ? `${VERBS[action].verb} …`
          : `${phraseOf(action, `${jobs(total)} of ${count(groups.length, 'error')}`)}?`
      }
      // Closing now would look like cancelling.
      onClose={begin.isRunning ? stay : onClose}
      footer={
        read.data &&
        total !== undefined &&
        total > 0 && (
          <ConfirmButton
            action={action}
            count={total}
            isDanger={action === 'cancel' || action === 'delete'}
            isBusy={begin.isRunning}
            onConfirm={() => void confirm(read.data)}
          />
        )
      }
    >
      <EnvironmentBadge />
      <ReadState read={read}>
        {(found) => (
          <>
            {groups.map((group, index) => (
              <Text key={group.fingerprint}>
                {number(found[index]?.count ?? 0)} × {errorOf(group).class}
              </Text>
            ))}
          </>
        )}
      </ReadState>
      <Text variant="small" color="textMuted">
        Each error becomes a bulk operation. Jobs that match later are left alone.
      </Text>
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

const previews = (
  action: Action,
  groups: readonly FailureGroup[],
  look: string,
): Read<readonly Preview[]> => ({
  key: ['bulkOperations.preview', action, look],
  call: (client, options) =>
    Promise.all(
      groups.map(({ fingerprint }) =>
        client.bulkOperations.preview({ action, filter: targetOf(action, fingerprint) }, options),
      ),
    ),
  isFixed: true,
})
