import type { StrategyContext } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, type Plain } from '../../apimachinery/objects/plain.ts';
import { roundAmounts } from '../../apimachinery/objects/quantity.ts';
import { strategy } from '../base/strategy.ts';
import { limitRangeCauses } from './quota.ts';

const AMOUNTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'];

function complete(item: Plain, target: string, source: string): void {
  for (const [name, value] of Object.entries(look(item, source))) child(item, target)[name] ??= value;
}

/**
 * Sets the defaults of a LimitRange. The default limit of a container is the maximum. The default request is the
 * default limit. Without a default limit, the default request is the minimum.
 */
export const limitRangeStrategy = strategy({
  setDefaults(object: ApiObject): void {
    for (const item of items(look(object, 'spec'), 'limits')) {
      if (item.type === 'Container') {
        complete(item, 'default', 'max');
        complete(item, 'defaultRequest', 'default');
        complete(item, 'defaultRequest', 'min');
      }
      for (const list of AMOUNTS) roundAmounts(item[list]);
    }
  },
  /** The server generates a name for a LimitRange without a name. */
  prepareForCreate({ metadata }: ApiObject, { newUid }: StrategyContext): void {
    if ((metadata.name ?? '') === '') metadata.name = newUid();
  },
  causes: limitRangeCauses,
});
