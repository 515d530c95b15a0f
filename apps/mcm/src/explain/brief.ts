import { DescriptionTexts, STEP_TEXTS } from '@mcm/api';

/** What ends a text for the controller, which reads its step there, or says that it continues, which deadlines and cures say better. */
const ENDINGS = [
  ...Object.values(STEP_TEXTS),
  'Aborting operation.',
  'Will retry in next sync.',
  'However, will re-try in the next resync.',
];

/**
 * A status's or event's text for a person: what is there for controllers is left out. The node's conditions, all of them, at its
 * end: `kubectl describe node` tells them better.
 */
export function brief(description: string): string {
  const text = description
    .replace(/\.? Node [cC]onditions: \[.*$/s, '')
    .replace(/^Drain failed due to - /, 'Drain failed: ')
    .replace(/^VM deletion failed due to - /, 'VM deletion failed: ')
    .replace(
      /^Error occurred with decoding machine error status while getting VM status, .*?code: /,
      'Asking for its VM failed: ',
    )
    .replace(DescriptionTexts.CloudProviderMessage, '')
    .replace(
      /machine codes error: code = \[(\w+)\] message = \[(?:(.*)\]|(.*)$)/s,
      (_, code: string, whole: string | undefined, cut: string | undefined) => withCode(code, whole ?? cut ?? ''),
    )
    .trim();
  return withoutEnding(text);
}

/** Clouds often call it the same. */
const withCode = (code: string, message: string): string =>
  message.startsWith(`${code}:`) ? message : `${code}: ${message}`;

function withoutEnding(text: string): string {
  const ending = ENDINGS.find((one) => text.length > one.length && text.endsWith(one));
  return ending ? withoutEnding(text.slice(0, -ending.length).trim()) : text.replace(/(?<=\w\]?)\.$/, '');
}
