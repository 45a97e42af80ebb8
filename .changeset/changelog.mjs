/**
 * A changelog for people: what each changeset says, without the commit that added it, and without a line for each package of
 * ours that has got the same version.
 */
export default {
  getReleaseLine: async ({ summary }) => `- ${summary.trim().split('\n').join('\n  ')}`,
  getDependencyReleaseLine: async () => '',
}
