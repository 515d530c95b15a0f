import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain } from '../../apimachinery/objects/plain.ts';

type Hooks = Pick<KindDefinition, 'prepareForCreate' | 'prepareForUpdate'>;

const DISABLED_SOURCES = ['clusterTrustBundle', 'podCertificate'];

/** Removes fields whose feature gates are off by default, as kube-apiserver does. */
function dropDisabled(spec: Plain): void {
  delete spec.schedulingGroup;
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of items(spec, list)) {
      const lifecycle = look(container, 'lifecycle');
      if (lifecycle.stopSignal === undefined) continue;
      delete lifecycle.stopSignal;
      if (Object.keys(lifecycle).length === 0) delete container.lifecycle;
    }
  }
  for (const volume of items(spec, 'volumes')) {
    for (const source of items(look(volume, 'projected'), 'sources')) {
      for (const name of DISABLED_SOURCES) delete source[name];
    }
  }
}

/** Extends a strategy: removes disabled fields from the pod spec at `path`. */
export function withoutDisabled<S extends Hooks>(strategy: S, ...path: readonly string[]): S {
  const drop = (object: ApiObject): void => dropDisabled(look(object, ...path));
  return {
    ...strategy,
    prepareForCreate: (object, context) => {
      drop(object);
      strategy.prepareForCreate?.(object, context);
    },
    prepareForUpdate: (object, old, context) => {
      drop(object);
      strategy.prepareForUpdate?.(object, old, context);
    },
  };
}
