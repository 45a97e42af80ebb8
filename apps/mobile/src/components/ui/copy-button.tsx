import { IconButton } from './icon-button.tsx'
import { useCopy } from './use-copy.ts'

export interface CopyButtonProps {
  readonly label: string
  readonly text: string
}

export function CopyButton({ label, text }: CopyButtonProps) {
  const copy = useCopy()
  return <IconButton icon="copy" label={label} onPress={() => void copy(text)} />
}
