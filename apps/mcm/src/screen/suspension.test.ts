import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { followSuspension, isForeground } from './suspension.ts';

const statOf = (foreground: number): string => `9 (a (b) c) S 1 7 5 34816 ${foreground} 4194304 0`;

class FakeHost extends EventEmitter {
  readonly pid = 9;
  readonly written: string[] = [];
  foreground = 7;

  kill(pid: number, signal: string): void {
    if (!this.emit(signal)) this.written.push(`stop ${pid}`);
  }

  follow() {
    const screen = { suspend: () => this.written.push('suspend'), resume: () => this.written.push('resume') };
    return followSuspension(screen, this, () => statOf(this.foreground));
  }

  /** Returns the events of the process since the last call. */
  since(): string[] {
    return this.written.splice(0);
  }
}

test('Ctrl-Z leaves the screen before the process stops, and fg resumes the screen, each time', () => {
  const host = new FakeHost();
  host.follow();
  for (let times = 0; times < 2; times += 1) {
    host.emit('SIGTSTP');
    expect(host.since()).toEqual(['suspend', 'stop 9']);
    host.emit('SIGCONT');
    expect(host.since()).toEqual(['resume']);
  }
});

test('after bg, the screen stays suspended until the process is in the foreground', () => {
  const host = new FakeHost();
  const suspension = host.follow();
  host.emit('SIGTSTP');
  host.since();
  host.foreground = 5;
  host.emit('SIGCONT');
  suspension.check();
  expect(host.since()).toEqual([]);
  host.foreground = 7;
  suspension.check();
  suspension.check();
  expect(host.since()).toEqual(['resume']);
});

test('after SIGSTOP, the screen is drawn again', () => {
  const host = new FakeHost();
  host.follow();
  host.emit('SIGCONT');
  expect(host.since()).toEqual(['resume']);
});

test('at the end, the process has no listeners, also if the screen is suspended', () => {
  const host = new FakeHost();
  host.follow().end();
  const suspended = host.follow();
  host.emit('SIGTSTP');
  suspended.end();
  expect(host.eventNames()).toEqual([]);
});

test('only Linux reports the foreground process group', () => {
  expect([statOf(7), statOf(5), undefined].map(isForeground)).toEqual([true, false, true]);
});
