import { Annotations, DescriptionTexts, STEP_TEXTS } from '@mcm/api';

/** The reason why mcm does not replace a machine whose in-place update has failed. */
export const KEPT_UPDATE = `annotation ${Annotations.RolloutOnCannotUpdateInPlace} of the MachineDeployment has the value Stop`;

const ENDINGS = [
  ...Object.values(STEP_TEXTS),
  'Aborting operation.',
  'Will retry in next sync.',
  'However, will re-try in the next resync.',
];

/**
 * Shortens the text of a status or an event for users: removes the parts that do not help them. The list of node
 * conditions at the end is removed too, because `kubectl describe node` prints it.
 */
export function brief(description: string): string {
  const text = description
    .replace(/\.? Node [cC]onditions: \[.*$/s, '')
    .replace(/^Drain failed due to - /, 'Drain failed: ')
    .replace(/^VM deletion failed due to - /, 'VM deletion failed: ')
    .replace(
      /^Error occurred with decoding machine error status while getting VM status, .*?code: /,
      'The search for the VM failed: ',
    )
    .replace(DescriptionTexts.CloudProviderMessage, '')
    .replace(
      /machine codes error: code = \[(\w+)\] message = \[(?:(.*)\]|(.*)$)/s,
      (_, code: string, whole: string | undefined, cut: string | undefined) => withCode(code, whole ?? cut ?? ''),
    )
    .trim();
  return withoutEnding(text);
}

const withCode = (code: string, message: string): string =>
  message.startsWith(`${code}:`) ? message : `${code}: ${message}`;

function withoutEnding(text: string): string {
  const ending = ENDINGS.find((one) => text.length > one.length && text.endsWith(one));
  return ending ? withoutEnding(text.slice(0, -ending.length).trim()) : text.replace(/(?<=\w[\])]*)\.{1,2}$/, '');
}
