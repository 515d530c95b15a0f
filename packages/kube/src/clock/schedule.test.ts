import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Schedule, type Scheduled } from './schedule.ts';

test('entries are popped by time, then in the order of insertion, without the canceled ones', () => {
  const action = fc.oneof(
    fc.record({ do: fc.constant('add' as const), at: fc.integer({ min: 0, max: 20 }) }),
    fc.record({ do: fc.constant('cancel' as const), at: fc.nat(200) }),
    fc.record({ do: fc.constant('pop' as const), at: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 300 }), (actions) => {
      const schedule = new Schedule<number>();
      const entries: Scheduled<number>[] = [];
      let model: Scheduled<number>[] = [];
      const earliest = () => model.toSorted((a, b) => a.at - b.at || a.order - b.order)[0];
      for (const [index, each] of actions.entries()) {
        if (each.do === 'add') {
          const entry = schedule.add(each.at, index);
          entries.push(entry);
          model.push(entry);
        } else if (each.do === 'cancel') {
          const entry = entries[each.at % Math.max(entries.length, 1)];
          if (entry === undefined) continue;
          schedule.cancel(entry);
          model = model.filter((other) => other !== entry);
        } else {
          const expected = earliest();
          expect(schedule.pop()).toBe(expected);
          model = model.filter((other) => other !== expected);
        }
        expect(schedule.size).toBe(model.length);
        expect(schedule.peek()).toBe(earliest());
      }
    }),
  );
});
