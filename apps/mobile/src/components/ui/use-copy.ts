import { copyText } from '../../lib/copy.ts'
import { useToast } from './toast.tsx'

/** Copies, and says whether it worked: a secret that is shown once cannot be copied later. */
export function useCopy(): (text: string) => Promise<void> {
  const toast = useToast()
  return async (text) => {
    const isCopied = await copyText(text).catch(() => false)
    toast.show(
      isCopied
        ? { text: 'Copied', icon: 'copy' }
        : { text: 'Could not copy. Select the text and copy it manually.', icon: 'warn' },
    )
  }
}
