import { isOncueError } from '@oncue/sdk'
import { useState } from 'react'
import { Segmented } from '../../components/ui/segmented.tsx'
import { type Checked, type Entered, type Errors, enteredOf, fieldAt, readForm } from './form.ts'
import { PayloadFields } from './payload-fields.tsx'
import { rootField, type SchemaField } from './schema.ts'

const WAYS = [
  { value: 'form', label: 'Form' },
  { value: 'json', label: 'JSON' },
] as const

type Way = (typeof WAYS)[number]['value']

/** A value by its JSON Schema: field by field where a form can show that, and always as JSON. */
interface SchemaFormState {
  /** What was entered; otherwise its fields say what is wrong. */
  readonly read: () => Checked
  /** Says at a field what the API refused there. False: there is no such field. */
  readonly refuse: (path: string, text: string) => boolean
  readonly shown: {
    readonly ways: { readonly value: Way; readonly choose: (way: Way) => void } | null
    readonly field: SchemaField
    readonly entered: Entered
    readonly errors: Errors
    readonly change: (path: string, text: string) => void
  }
}

export function useSchemaForm(
  name: Parameters<typeof rootField>[0],
  schema: unknown,
  /** Of the value as JSON: an empty text is null where it is not. */
  { isRequired = false }: { readonly isRequired?: boolean } = {},
): SchemaFormState {
  const form = rootField(name, schema)
  const hasForm = form.shape.kind !== 'json'
  const [way, setWay] = useState<Way>(hasForm ? 'form' : 'json')
  const [entered, setEntered] = useState<Entered>(() => enteredOf(form))
  const [errors, setErrors] = useState<Errors>({})
  const field = way === 'json' ? { ...rootField(name, null), isRequired } : form
  return {
    read() {
      const checked = readForm(field, entered)
      setErrors(checked.ok ? {} : checked.errors)
      return checked
    },
    refuse(path, text) {
      const place = fieldAt(field, path)
      if (place !== null) setErrors({ [place]: text })
      return place !== null
    },
    shown: {
      ways: hasForm
        ? {
            value: way,
            choose(next) {
              const checked = readForm(form, entered)
              if (next === 'json' && checked.ok)
                setEntered({ ...entered, [name]: JSON.stringify(checked.value, null, 2) })
              setErrors({})
              setWay(next)
            },
          }
        : null,
      field,
      entered,
      errors,
      change: (path, text) => setEntered({ ...entered, [path]: text }),
    },
  }
}

export function SchemaForm({ form: { shown } }: { readonly form: SchemaFormState }) {
  const { ways, field, entered, errors, change } = shown
  return (
    <>
      {ways && (
        <Segmented
          label={`${NAMES[field.name] ?? 'Value'} as`}
          options={WAYS}
          value={ways.value}
          onChange={ways.choose}
        />
      )}
      <PayloadFields field={field} entered={entered} errors={errors} onChange={change} />
    </>
  )
}

const NAMES: Readonly<Record<string, string>> = { payload: 'Payload', answer: 'Answer', signal: 'Data' }

/** What an error from the API, or of the check before it, is about: `payload.userId`. */
export function pathIn(error: unknown): string {
  if (!isOncueError(error)) return ''
  const { path } = error.details ?? {}
  const named = typeof path === 'string' ? path : (/^[\w$.[\]"]+/.exec(error.message)?.[0] ?? '')
  return named.replace(/^input\.(?=payload)/, '')
}
