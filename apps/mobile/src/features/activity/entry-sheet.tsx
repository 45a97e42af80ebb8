import { Button } from '../../components/ui/button.tsx'
import { Fact } from '../../components/ui/fact.tsx'
import { JsonTree } from '../../components/ui/json-tree.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { moment, number } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import type { Entry } from './queries.ts'
import { deedOf, deviceOf, reasonOf, type Subject, subjectOf } from './words.ts'

export interface EntrySheetProps {
  readonly entry: Entry
  readonly onClose: () => void
  /** Filters by this actor. */
  readonly onFilter: () => void
}

/** All fields of an audit entry. */
export function EntrySheet({ entry, onClose, onFilter }: EntrySheetProps) {
  const { actor, at, action, target, count, ip, userAgent, requestId } = entry
  const who = actor.name || actor.id
  const from = deviceOf(entry)
  const reason = reasonOf(entry)
  const subject = reason === null ? subjectOf(entry) : null
  return (
    <Sheet
      isOpen
      title={`${who} ${deedOf(entry)}`}
      onClose={onClose}
      footer={
        <>
          {subject && <OpenSubject subject={subject} onOpened={onClose} />}
          <Button wide label={`Show only activity by ${who}`} icon="filter" onPress={onFilter} />
        </>
      }
    >
      <Fact name="When" value={moment(at)} />
      {reason !== null && <Fact name="Reason" value={reason} />}
      {from !== `from ${ip}` && <Fact name="Access" value={from} />}
      {ip !== null && <Fact name="Address" value={ip} />}
      {count !== null && reason === null && <Fact name="How many" value={number(count)} />}
      <Fact name="Action" value={action} />
      {userAgent !== null && <Fact name="Agent" value={userAgent} />}
      {requestId !== null && <Fact name="Request" value={requestId} />}
      {target !== null && reason === null && <JsonTree value={target} />}
    </Sheet>
  )
}

function OpenSubject({ subject, onOpened }: { readonly subject: Subject; readonly onOpened: () => void }) {
  const open = useOpen(subject.param)
  const onPress = () => {
    onOpened()
    open(subject.value)
  }
  return <Button wide variant="primary" label={`Open the ${subject.name}`} icon="open" onPress={onPress} />
}
