import { IgnitionError, type Issue } from '../ignition/index.ts';
import { RenderError } from './error.ts';

export const HINT_MARK = '. To fix the error: ';

const HINTS: Readonly<Record<string, string>> = {
  'illegal file mode': 'write the mode as a decimal number from 0 to 511 (octal 0777)',
  'path not absolute': 'start the path with /',
  'path not specified': 'set a path',
  'path is not fully simplified': 'write the path without . and .. and without doubled or trailing slashes',
  'duplicate entry defined': 'remove one of the two entries',
  'invalid url scheme': 'write the content as a data: URL',
  'path conflicts with systemd unit or dropin': 'keep only the file or the unit',
  'link target is required': 'set the target',
};

const NAMED = 3;

export function ignitionHint(name: string, error: Error): string {
  const issues = error instanceof IgnitionError ? error.issues : [];
  const fields = issues.slice(0, NAMED).map(({ path }) => fieldOf(path));
  const more = issues.length > NAMED ? ` and ${issues.length - NAMED} more` : '';
  const fieldNames = fields.length === 0 ? 'the spec' : `${fields.join(', ')}${more}`;
  const hints = [...new Set(issues.slice(0, NAMED).flatMap(({ message }) => HINTS[message] ?? []))];
  const how = hints.length === 0 ? '' : ` (${hints.join('; ')})`;
  return `correct ${fieldNames}${how} of MachineConfig ${name}, or delete the MachineConfig`;
}

const fieldOf = (path: Issue['path']): string => path.replace(/^\$/, 'spec.config');

/** The maximum length of a failure text; `mcm config render` shows the full text. */
const MAX_TEXT = 2_000;

export function failureText(what: string, error: Error, standing: string | undefined): string {
  const text = error.message
    .trim()
    .replace(/\n+Report:\s*/g, ': ')
    .replace(/\s*\n\s*/g, '; ');
  const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  const hint = error instanceof RenderError ? error.hint : undefined;
  const until = standing ? `the nodes keep ${standing} until the error is corrected` : '';
  const last = [hint ?? '', until].filter((part) => part !== '').join('; ');
  return `${what}: ${cut}${last === '' ? '' : `${HINT_MARK}${last}`}`;
}

export function hintIn(text: string): string | undefined {
  const at = text.indexOf(HINT_MARK);
  return at < 0 ? undefined : text.slice(at + HINT_MARK.length);
}

export function withoutHint(text: string): string {
  const at = text.indexOf(HINT_MARK);
  return at < 0 ? text : text.slice(0, at);
}
