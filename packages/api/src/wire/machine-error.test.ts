import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isMachineCode, type MachineCode, MachineCodes, machineCodeName } from './machine-codes.ts';
import { parseMachineError, printMachineError } from './machine-error.ts';

describe('codes', () => {
  test('the numbers and names of error codes agree', () => {
    const names = Object.keys(MachineCodes);
    expect(names).toHaveLength(18);
    for (const [name, number] of Object.entries(MachineCodes)) expect(machineCodeName(number)).toBe(name);
    expect(Object.values(MachineCodes)).toEqual(names.map((_, index) => index));
  });

  test('a text that is not a code', () => {
    expect(machineCodeName(99)).toBe('Code(99)');
    expect(['notfound', 'constructor', ''].filter(isMachineCode)).toEqual([]);
  });
});

describe('text form', () => {
  test('the text form of a machine error is the text in stored objects', () => {
    expect(printMachineError({ code: 'Unavailable', message: 'the cloud says: Unavailable' })).toBe(
      'machine codes error: code = [Unavailable] message = [the cloud says: Unavailable]',
    );
  });

  test.each<[text: string, code: MachineCode, message: string, recognised: boolean]>([
    ['machine codes error: code = [NotFound] message = [gone]', 'NotFound', 'gone', true],
    ['Cloud provider message - machine codes error: code = [Internal] message = [x]', 'Internal', 'x', true],
    ['] code = [Aborted] and [nested [brackets] stay]', 'Aborted', 'nested [brackets] stay', true],
    ['code = [NoSuchCode] message = [x]', 'Unknown', 'x', true],
    ['[Aborted] [x] and [an open one', 'Aborted', 'x', true],
    ['[Aborted] [] ', 'Aborted', '', true],
    ['message = [cut] here], code = [Aborted]', 'Unknown', 'Aborted', true],
    ['one [Aborted] [two] [three]', 'Unknown', 'one [Aborted] [two] [three]', false],
    ['[Aborted] [open [one]', 'Unknown', '[Aborted] [open [one]', false],
    ['dial tcp: connection refused', 'Unknown', 'dial tcp: connection refused', false],
  ])('%s', (text, code, message, recognised) => {
    expect(parseMachineError(text)).toEqual({ code, message, recognised });
  });

  test('the code and the text in its brackets; a text without brackets is a failure [S-X5]', () => {
    const text = 'machine codes error: code = [NotFound] message = [a [b] c]';
    expect(parseMachineError(text)).toEqual({ code: 'NotFound', message: 'a [b] c', recognised: true });
    expect(parseMachineError('x')).toEqual({ code: 'Unknown', message: 'x', recognised: false });
  });

  test('a machine error is equal after formatting and parsing, except unpaired brackets', () => {
    const messages = fc.oneof(fc.string(), fc.stringMatching(/^[[\]()a]{0,12}$/));
    const codes = fc.constantFrom(...Object.keys(MachineCodes).filter(isMachineCode));
    fc.assert(
      fc.property(codes, messages, (code, message) => {
        const read = parseMachineError(`wrapped: ${printMachineError({ code, message })}`);
        expect(read).toMatchObject({ code, recognised: true });
        expect(read.message.replace(/[[\]()]/g, '|')).toBe(message.replace(/[[\]()]/g, '|'));
        if (!/[[\]]/.test(message)) expect(read.message).toBe(message);
      }),
    );
  });

  test('an unpaired bracket becomes a parenthesis', () => {
    expect(parseMachineError(printMachineError({ code: 'Internal', message: 'a] [b [c]' })).message).toBe('a) (b [c]');
  });
});
