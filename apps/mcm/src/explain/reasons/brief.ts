import { Annotations, DescriptionTexts, STEP_TEXTS } from '@mcm/api';

/** The text of the reason why a machine with a failed in-place update is not replaced. */
export const KEPT_UPDATE = `the annotation ${Annotations.RolloutOnCannotUpdateInPlace} of the MachineDeployment is Stop`;

/**
 * Matches ends of texts that are only useful for controllers, such as the next step or a retry. The explanation prints
 * deadlines and hints instead of the ends of the messages.
 */
const ENDINGS = [
  ...Object.values(STEP_TEXTS),
  'Aborting operation.',
  'Will retry in next sync.',
  'However, will re-try in the next resync.',
];

/**
 * Shortens the text of a status or an event for users. The function removes parts that are only useful for controllers.
 * The function also removes the list of node conditions at the end, which `kubectl describe node` prints.
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

/** Adds the code to a message, unless the message already starts with the code. */
const withCode = (code: string, message: string): string =>
  message.startsWith(`${code}:`) ? message : `${code}: ${message}`;

function withoutEnding(text: string): string {
  const ending = ENDINGS.find((one) => text.length > one.length && text.endsWith(one));
  return ending ? withoutEnding(text.slice(0, -ending.length).trim()) : text.replace(/(?<=\w[\])]*)\.{1,2}$/, '');
}
