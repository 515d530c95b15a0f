import { isMachineCode, type MachineCode } from './machine-codes.ts';

/** The parsed text of a machine error. */
export interface MachineErrorText {
  readonly code: MachineCode;
  readonly message: string;
}

/**
 * The parts of a machine error. For an unparsable text, `recognised` is false, the code is Unknown, and the message is
 * the whole text.
 */
export interface ParsedMachineError extends MachineErrorText {
  readonly recognised: boolean;
}

/**
 * Formats a machine error: `machine codes error: code = [<code>] message = [<message>]`.
 *
 * Unpaired brackets in the message become parentheses, because the original would truncate the message. Source:
 * machine-controller-manager, pkg/util/provider/machinecodes/status/status.go.
 */
export const printMachineError = ({ code, message }: MachineErrorText): string =>
  `machine codes error: code = [${code}] message = [${withPairedBrackets(message)}]`;

/**
 * Finds and parses a machine error anywhere in a text. A machine error has exactly two top-level bracket groups, the
 * code and the message. The parser ignores text around the bracket groups, so the parser also finds wrapped errors. An
 * unknown machine error code becomes Unknown.
 */
export function parseMachineError(text: string): ParsedMachineError {
  const groups = bracketGroups(text);
  const [code, message] = groups;
  if (groups.length !== 2 || code === undefined || message === undefined) {
    return { code: 'Unknown', message: text, recognised: false };
  }
  return { code: isMachineCode(code) ? code : 'Unknown', message, recognised: true };
}

/** Skips a surplus `]`, and drops a bracket group without an end. */
function bracketGroups(text: string): string[] {
  const groups: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '[') {
      if (depth === 0) start = at + 1;
      depth++;
    } else if (text[at] === ']' && depth > 0) {
      depth--;
      if (depth === 0) groups.push(text.slice(start, at));
    }
  }
  return groups;
}

function withPairedBrackets(message: string): string {
  const open: number[] = [];
  const chars = message.split('');
  chars.forEach((char, at) => {
    if (char === '[') open.push(at);
    else if (char === ']' && open.pop() === undefined) chars[at] = ')';
  });
  for (const at of open) chars[at] = '(';
  return chars.join('');
}
