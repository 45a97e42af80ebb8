import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { clockSeconds, count } from '../../lib/format.ts'
import { zoneOf } from '../../lib/time-zone.ts'
import { space } from '../../theme/tokens.ts'
import type { LogLine } from './job-stream.ts'
import { Card, Section } from './section.tsx'

/** The newest lines are shown; the others are a press away. */
const SHOWN = 50

/** The lines that the job's handler logged. */
export function JobLog({ lines }: { readonly lines: readonly LogLine[] }) {
  const [isAll, setAll] = useState(false)
  const [first] = lines
  const hidden = isAll ? 0 : Math.max(0, lines.length - SHOWN)
  return (
    <Section
      title="Log"
      action={
        first && (
          <Text variant="small" color="textMuted">
            Times in {zoneOf(first.at)}
          </Text>
        )
      }
    >
      <Card>
        {hidden > 0 && (
          <Button
            label={`Show ${count(hidden, 'earlier line')}`}
            variant="quiet"
            onPress={() => setAll(true)}
          />
        )}
        <View role="log" style={styles.lines}>
          {lines.slice(hidden).map(({ version, at, level, message, fields }) => (
            <Text key={version} variant="code" selectable color={COLORS[level]}>
              <Text variant="code" color="textMuted">
                {clockSeconds(at)}{' '}
              </Text>
              {level === 'info' || level === 'debug' ? '' : `${level}: `}
              {message}
              {fields && (
                <Text variant="code" color="textMuted">
                  {' '}
                  {JSON.stringify(fields)}
                </Text>
              )}
            </Text>
          ))}
        </View>
      </Card>
    </Section>
  )
}

const COLORS = { debug: 'textMuted', info: 'text', warn: 'warn', error: 'bad' } as const

const styles = StyleSheet.create({ lines: { gap: space.xs } })
