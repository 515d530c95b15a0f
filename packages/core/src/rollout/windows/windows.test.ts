import { Annotations } from '@mcm/api';
import { Cron } from 'croner';
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { parseRules, type WindowRules } from './parse.ts';
import { closedWindow } from './state.ts';

const rulesOf = (windows?: string, freezes?: string, openUntil?: string): WindowRules => {
  const { rules, violations } = parseRules({
    ...(windows === undefined ? {} : { [Annotations.RolloutWindows]: windows }),
    ...(freezes === undefined ? {} : { [Annotations.RolloutFreezes]: freezes }),
    ...(openUntil === undefined ? {} : { [Annotations.RolloutOpenUntil]: openUntil }),
  });
  expect(violations).toEqual([]);
  return rules;
};

const stateAt = (at: string, ...rules: readonly WindowRules[]) => {
  const closed = closedWindow(rules, new Date(at));
  return closed === undefined ? 'open' : `${closed.reason} ${closed.opensAt?.toISOString().slice(0, 16) ?? 'never'}`;
};

describe('windows', () => {
  const nights = rulesOf('0 22 * * MON-FRI Europe/Berlin 4h');

  test.each([
    ['before it opens', '2026-01-05T20:59:59Z', 'OutsideWindow 2026-01-05T21:00'],
    ['at the moment it opens', '2026-01-05T21:00:00Z', 'open'],
    ['before it closes', '2026-01-06T00:59:59Z', 'open'],
    ['at the moment it closes', '2026-01-06T01:00:00Z', 'OutsideWindow 2026-01-06T21:00'],
    ['at the weekend', '2026-01-10T12:00:00Z', 'OutsideWindow 2026-01-12T21:00'],
    ['in summer time', '2026-07-06T20:00:00Z', 'open'],
  ])('%s', (_title, at, want) => {
    expect(stateAt(at, nights)).toBe(want);
  });

  test('any of several windows of one object is enough', () => {
    const rules = rulesOf('0 22 * * MON UTC 1h; 0 8 * * TUE UTC 1h');
    expect(stateAt('2026-01-06T08:30:00Z', rules)).toBe('open');
    expect(stateAt('2026-01-06T09:00:00Z', rules)).toBe('OutsideWindow 2026-01-12T22:00');
  });

  test('windows that overlap stay open, also one that is longer than its interval', () => {
    expect(stateAt('2026-01-06T05:00:00Z', rulesOf('0 0 * * * UTC 168h'))).toBe('open');
  });

  test('deployment and class must both allow it', () => {
    const weekend = rulesOf('0 0 * * SAT UTC 48h');
    const mornings = rulesOf('0 6 * * * UTC 2h');
    expect(stateAt('2026-01-05T06:30:00Z', weekend, mornings)).toBe('OutsideWindow 2026-01-10T06:00');
    expect(stateAt('2026-01-10T06:30:00Z', weekend, mornings)).toBe('open');
    expect(stateAt('2026-01-10T08:00:00Z', weekend, mornings)).toBe('OutsideWindow 2026-01-11T06:00');
  });

  test('windows that never overlap have no time to open', () => {
    const odd = rulesOf('0 0 * * MON UTC 1h');
    expect(stateAt('2026-01-05T00:30:00Z', odd, rulesOf('0 12 * * TUE UTC 1h'))).toBe('OutsideWindow never');
  });

  test('mcm searches once for the time to open, until this time or a jump of the clock', () => {
    const nextRun = vi.spyOn(Cron.prototype, 'nextRun');
    const stepsOf = (at: string, want: string, ...texts: readonly string[]): number => {
      const rules = texts.map((text) => rulesOf(text));
      nextRun.mockClear();
      expect(stateAt(at, ...rules)).toBe(want);
      return nextRun.mock.calls.length;
    };
    const never = ['0 0 * * WED UTC 1h', '0 12 * * THU UTC 1h'] as const;
    const disjoint = (at: string) => stepsOf(at, 'OutsideWindow never', ...never);
    expect(disjoint('2026-01-05T00:30:00Z')).toBeGreaterThan(100);
    expect(disjoint('2026-01-06T00:30:00Z')).toBeLessThan(5);
    expect(disjoint('2025-01-06T00:30:00Z')).toBeGreaterThan(100);
    const rare = ['0 1 1 * * UTC 1h', '0 1 * * SUN UTC 2h'] as const;
    const opens = (at: string, want: string) => stepsOf(at, `OutsideWindow ${want}`, ...rare);
    const first = opens('2026-01-05T00:30:00Z', '2026-02-01T01:00');
    expect(opens('2026-01-31T00:30:00Z', '2026-02-01T01:00')).toBeLessThan(first);
    expect(opens('2026-02-01T02:00:00Z', '2026-03-01T01:00')).toBeGreaterThan(5);
    nextRun.mockRestore();
  });

  test('a window on 29 February opens in leap years only', () => {
    expect(stateAt('2026-03-01T00:00:00Z', rulesOf('0 0 29 2 * UTC 2h'))).toBe('OutsideWindow 2028-02-29T00:00');
  });

  test('a window in the hour that summer time skips opens after it, and one in the repeated hour opens once', () => {
    const early = rulesOf('30 2 * * * Europe/Berlin 30m');
    expect(stateAt('2026-03-29T00:59:00Z', early)).toBe('OutsideWindow 2026-03-29T01:00');
    expect(stateAt('2026-10-25T00:40:00Z', early)).toBe('open');
    expect(stateAt('2026-10-25T01:40:00Z', early)).toBe('OutsideWindow 2026-10-26T01:30');
  });
});

describe('freezes', () => {
  const holidays = '2026-12-20T00:00:00Z/2027-01-04T06:00:00Z end of the year';

  test('close windows that are open, until their end', () => {
    const rules = rulesOf('0 22 * * * UTC 4h', holidays);
    expect(stateAt('2026-12-19T23:00:00Z', rules)).toBe('open');
    expect(stateAt('2026-12-20T00:00:00Z', rules)).toBe('InFreeze 2027-01-04T22:00');
    expect(closedWindow([rules], new Date('2026-12-20T00:00:00Z'))?.because).toBe(
      'waiting: a freeze stops rollouts until 2027-01-04T06:00:00Z (end of the year); the rollout may continue at 2027-01-04T22:00:00Z',
    );
  });

  test('freezes that follow each other count as one', () => {
    const rules = rulesOf(undefined, `${holidays}; 2027-01-04T06:00:00Z/2027-01-05T00:00:00Z audit`);
    expect(stateAt('2026-12-31T00:00:00Z', rules)).toBe('InFreeze 2027-01-05T00:00');
  });

  test('freezes and windows are overridden until the time that a user sets', () => {
    const rules = rulesOf('0 22 * * * UTC 1h', holidays, '2026-12-24T12:00:00Z');
    expect(stateAt('2026-12-24T11:59:59Z', rules)).toBe('open');
    expect(stateAt('2026-12-24T12:00:00Z', rules)).toBe('InFreeze 2027-01-04T22:00');
  });
});

describe('errors name the annotation, the entry and the fix', () => {
  test.each([
    [
      'windows',
      '0 22 * * MON-FRI 4h',
      /"0 22 \* \* MON-FRI 4h" must have the format five cron fields, a time zone and a duration/,
    ],
    ['windows', '0 25 * * * UTC 4h', /must have the format five cron fields/],
    ['windows', '0 22 * * * Mars/Olympus 4h', /"Mars\/Olympus" must be a time zone/],
    ['windows', '0 22 * * * UTC 30s', /"30s" must be a duration from 1m to 168h/],
    ['windows', '0 22 * * * UTC long', /"long" must be a duration/],
    ['windows', '0 0 30 2 * UTC 1h', /never opens/],
    ['freezes', '2026-12-20/2027-01-04 holidays', /must be two RFC 3339 times and a reason/],
    ['freezes', '2026-12-20T00:00:00Z/2027-01-04T00:00:00Z', /and a reason/],
    ['freezes', '2027-01-04T00:00:00Z/2026-12-20T00:00:00Z holidays', /second time must be after the first/],
    ['open-until', 'tomorrow', /must be an RFC 3339 time/],
  ])('%s: %s', (key, text, message) => {
    const field = `rollout.machine.sapcloud.io/${key}`;
    const { violations } = parseRules({ [field]: text });
    expect(violations).toEqual([{ field: `metadata.annotations[${field}]`, message: expect.stringMatching(message) }]);
  });
});

test('a closed rollout opens at the announced time, and not before', () => {
  const part = fc.constantFrom('0 22 * * * UTC 4h', '30 2 * * SUN Europe/Berlin 3h', '15 */6 * * * Asia/Kolkata 20m');
  const freeze = fc.constantFrom(undefined, '2026-03-28T12:00:00Z/2026-03-29T09:00:00Z change of the clocks');
  const minute = fc.integer({ min: 0, max: 60 * 24 * 14 });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 2 }), part, freeze, minute, (own, ofClass, frozen, after) => {
      const rules = [rulesOf(own.join(';'), frozen), rulesOf(ofClass)];
      const at = new Date(Date.UTC(2026, 2, 22) + after * 60_000);
      const closed = closedWindow(rules, at);
      if (closed?.opensAt === undefined) return;
      expect(closed.opensAt.getTime()).toBeGreaterThan(at.getTime());
      expect(closedWindow(rules, closed.opensAt)).toBeUndefined();
      const ms = closed.opensAt.getTime() - at.getTime();
      for (const part of [0.2, 0.5, 0.9]) expect(closedWindow(rules, new Date(at.getTime() + part * ms))).toBeDefined();
      expect(closedWindow(rules, new Date(closed.opensAt.getTime() - 1))).toBeDefined();
    }),
    { numRuns: 40 },
  );
});
