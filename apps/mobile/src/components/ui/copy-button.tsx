import { setStringAsync } from 'expo-clipboard'
import { IconButton } from './icon-button.tsx'
import { useToast } from './toast.tsx'

export interface CopyButtonProps {
  readonly label: string
  readonly text: string
}

export function CopyButton({ label, text }: CopyButtonProps) {
  const toast = useToast()
  const copy = () =>
    setStringAsync(text).then(
      () => toast.show({ text: 'Copied', icon: 'copy' }),
      () => toast.show({ text: 'This browser does not let the page copy.', icon: 'warn' }),
    )
  return <IconButton icon="copy" label={label} onPress={() => void copy()} />
}
