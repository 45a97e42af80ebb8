import { completeSearch, isJobId } from '@oncue/sdk'
import { type RefObject, useState } from 'react'
import { StyleSheet, type TextInput, View } from 'react-native'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { Field } from '../../components/ui/field.tsx'
import { space } from '../../theme/tokens.ts'
import { useIsDesk } from '../../theme/use-theme.ts'
import { many } from '../bulk-operations/words.ts'
import type { Found } from './queries.ts'
import type { Reading, Search } from './use-search.ts'

interface SearchFieldProps {
  readonly search: Search
  readonly onOpen: (jobId: string) => void
  readonly searchRef: RefObject<TextInput | null>
}

/** More would hide the list on a phone. */
const MAX_COMPLETIONS = 10

/** The search line, with completions while it is typed. */
export function SearchField({ search, onOpen, searchRef }: SearchFieldProps) {
  const [text, setText] = useState(search.line)
  const [isTyping, setTyping] = useState(false)
  const [problem, setProblem] = useState(() => search.problemOf(search.line))
  const write = (typed: string) => {
    setText(typed)
    setProblem(null)
    setTyping(true)
  }
  const submit = () => {
    const line = text.trim()
    const found = search.problemOf(line)
    setProblem(found)
    if (found !== null) return
    setTyping(false)
    if (isJobId(line.toLowerCase())) onOpen(line.toLowerCase())
    else search.search(line)
  }
  const completions = isTyping ? completeSearch(text, search.names).slice(0, MAX_COMPLETIONS) : []
  return (
    <>
      <View style={styles.search}>
        <Field
          ref={searchRef}
          label="Search jobs"
          placeholder={search.maySearchPayloads ? 'Id, payload, error, topic:…' : 'Id, error, topic:…'}
          isBare
          inputMode="search"
          returnKeyType="search"
          value={text}
          onChangeText={write}
          onFocus={() => setTyping(true)}
          error={problem}
          onSubmitEditing={submit}
        />
      </View>
      {completions.length > 0 && (
        <Chips>
          {completions.map((line) => (
            <Chip
              key={line}
              label={/\S+\s*$/.exec(line)?.[0].trim() ?? line}
              onPress={() => {
                write(line)
                searchRef.current?.focus()
              }}
            />
          ))}
        </Chips>
      )}
    </>
  )
}

interface ReadingsProps {
  readonly search: Search
  /** What the list of the chosen one has found: newer than the probe. Null: still loading. */
  readonly listed: Found | null
}

/** The possible meanings of the line, and how many jobs each finds. */
export function Readings({ search: { readings, chosen, choose }, listed }: ReadingsProps) {
  const isDesk = useIsDesk()
  if (readings.length < 2) return null
  const isChosen = ({ words }: Reading) => words === chosen?.words
  // Where not all are in sight, the chosen one comes first.
  const shown = isDesk ? readings : [...readings].sort((a, b) => Number(isChosen(b)) - Number(isChosen(a)))
  return (
    <Chips key={isDesk ? 'all' : chosen?.words}>
      {shown.map((reading) => (
        <Chip
          key={reading.words}
          label={labelOf(isChosen(reading) && listed ? { ...reading, found: listed } : reading)}
          isOn={isChosen(reading)}
          onPress={() => choose(reading)}
        />
      ))}
    </Chips>
  )
}

/** `payload contains “u_1” (last 24 hours): 12`. */
export function labelOf({ words, found, isLoading }: Reading): string {
  if (isLoading) return `${words}: …`
  if (!found) return words
  if (found.total > 0) return `${words}: ${many(found.total, found.isExact)}`
  return `${words}: ${found.isCut ? 'none so far' : 'none'}`
}

const styles = StyleSheet.create({ search: { paddingHorizontal: space.l } })
