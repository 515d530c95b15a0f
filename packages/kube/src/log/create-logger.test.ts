import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { createLogger } from './create-logger.ts';
import { createMemoryLogger, type LogLevel } from './memory-logger.ts';

function capture(level: LogLevel | 'silent', write: (log: Logger) => void): Record<string, unknown>[] {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, callback) {
      text += String(chunk);
      callback();
    },
  });
  write(createLogger({ level, destination, fields: { binary: 'demo' } }));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Record<string, unknown> => JSON.parse(line));
}

test('a line has a constant message, the fields of `with`, and those of the binary', () => {
  const [line] = capture('info', (log) => log.with({ controller: 'machine' }).info('Reconcile failed', { key: 'a/b' }));
  expect(line).toMatchObject({
    level: 'info',
    msg: 'Reconcile failed',
    binary: 'demo',
    controller: 'machine',
    key: 'a/b',
  });
  expect(Date.parse(String(line?.time))).not.toBeNaN();
});

test.each([
  ['debug', 4],
  ['info', 3],
  ['error', 1],
  ['silent', 0],
] as const)('level %s', (level, lines) => {
  const seen = capture(level, (log) => {
    log.debug('d');
    log.info('i');
    log.warn('w');
    log.error('e');
  });
  expect(seen.length).toBe(lines);
});

test('the level changes at run time, also for existing loggers', () => {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, callback) {
      lines.push(JSON.parse(String(chunk)).msg);
      callback();
    },
  });
  const log = createLogger({ level: 'info', destination });
  const child = log.with({ controller: 'machine' });
  child.debug('too much');
  log.level.set('debug');
  child.debug('wanted');
  log.level.set('silent');
  child.error('never');
  expect([lines, log.level.get()]).toEqual([['wanted'], 'silent']);
});

test('secret fields are removed from the log, regardless of the caller', () => {
  const text = JSON.stringify(
    capture('info', (log) =>
      log.info('Created', { token: 's3cret', userData: 's3cret', credentials: { key: 's3cret' }, name: 'm' }),
    ),
  );
  expect(text).not.toContain('s3cret');
  expect(text).toContain('"name":"m"');
});

test('errors contain their causes, and refusals of a server have no stack', () => {
  const refused = new KubeError('PATCH /x: no', { code: 409, reason: 'Conflict' });
  const [bug, refusal] = capture('info', (log) => {
    log.error('x', { error: new Error('outer', { cause: new Error('inner') }) });
    log.error('x', { error: refused });
  });
  expect(bug?.error).toMatchObject({
    message: 'outer: inner',
    stack: expect.stringContaining('create-logger.test.ts'),
  });
  expect(refusal?.error).toEqual({ message: 'PATCH /x: no', code: 409, reason: 'Conflict' });
});

test('the memory logger keeps the lines of its children', () => {
  const log = createMemoryLogger();
  log.with({ a: 1 }).with({ b: 2 }).warn('m', { c: 3 });
  expect(log.lines).toEqual([{ level: 'warn', message: 'm', fields: { a: 1, b: 2, c: 3 } }]);
});
