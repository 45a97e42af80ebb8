import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { type Limit, type LimitText, limitInWords, readLimit, textOf } from './limit-form.ts'
import { ALERT_QUEUE } from './use-pausing.ts'

export interface LimitSheetProps {
  readonly queue: string
  readonly limit: Limit
  readonly onClose: () => void
}

/** Max running at once and max starts per time, for one queue. Open while it is mounted. */
export function LimitSheet({ queue, limit, onClose }: LimitSheetProps) {
  const [text, setText] = useState<LimitText>(() => textOf(limit))
  const [wasTried, setTried] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const toast = useToast()
  const lock = useLock(queue === ALERT_QUEUE ? 'admin' : 'act')
  const { data } = useHealth()
  const setting = useAct((client, wanted: Limit) => client.queues.limit({ queue, limit: wanted }), {
    touches: ['health.get'],
  })
  const checked = readLimit(text)
  const errors = wasTried && !checked.ok ? checked.errors : {}
  const field = (name: keyof LimitText) => ({
    value: text[name],
    onChangeText: (value: string) => setText({ ...text, [name]: value }),
    error: errors[name] ?? null,
    inputMode: 'decimal' as const,
  })

  const say = (error: unknown) => toast.show({ text: describeProblem(error).text, icon: 'warn' })
  const save = async () => {
    setTried(true)
    if (!checked.ok) return
    try {
      await setting.run(checked.limit)
      onClose()
      const undo = () => void setting.run(limit).catch(say)
      toast.show({ text: `${queue}: ${limitInWords(checked.limit)}`, icon: 'check', undo })
    } catch (error) {
      setProblem(describeProblem(error).text)
    }
  }
  const label = 'save these limits'
  const isDelicate = lock === null && !setting.isRunning && isProduction(data?.environment ?? null)

  return (
    <Sheet
      isOpen
      title={`Limits of “${queue}”`}
      onClose={onClose}
      footer={
        isDelicate ? (
          <HoldButton label={`Hold to ${label}`} onConfirm={() => void save()} />
        ) : (
          <Button
            label="Save these limits"
            variant="primary"
            wide
            lock={lock}
            isBusy={setting.isRunning}
            onPress={() => void save()}
          />
        )
      }
    >
      <View style={styles.where}>
        <EnvironmentBadge />
        <Text variant="small" color="textMuted" style={styles.now}>
          Now: {limitInWords(limit)}. Applies to all workers together.
        </Text>
      </View>
      <Field label="Max running at once" help="Empty: no limit. 0: no jobs start." {...field('maxRunning')} />
      <View style={styles.rate}>
        <View style={styles.part}>
          <Field label="Max starts" {...field('count')} />
        </View>
        <View style={styles.part}>
          <Field label="per … seconds" {...field('seconds')} />
        </View>
      </View>
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

const styles = StyleSheet.create({
  where: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s },
  now: { flexShrink: 1 },
  rate: { flexDirection: 'row', flexWrap: 'wrap', gap: space.m },
  part: { flexGrow: 1, flexBasis: 150 },
})
