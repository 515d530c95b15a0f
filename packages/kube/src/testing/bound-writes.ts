import type { Transport } from '../contract/transport.ts';

/**
 * Kinds whose names identify the object: Events, Leases and bootstrap tokens. The name of a bootstrap token contains
 * the UID of its machine.
 */
const EXEMPT = /\/(events|leases)(\/|\?|$)|\/secrets\/bootstrap-token-/;

interface Body {
  readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
  readonly preconditions?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
  readonly deleteOptions?: Body;
}

interface Operation {
  readonly op: string;
  readonly path: string;
}

const namesObject = ({ metadata, preconditions, deleteOptions }: Body): boolean =>
  [metadata, preconditions, deleteOptions?.preconditions].some(
    (bound) => bound?.uid !== undefined || bound?.resourceVersion !== undefined,
  );

/** Returns true if a delete request contains the object version on which the decision was based. */
const isVersioned = ({ preconditions }: Body): boolean => preconditions?.resourceVersion !== undefined;

const isBound = (body: Body | readonly Operation[]): boolean =>
  'some' in body ? body.some(({ op, path }) => op === 'test' && path === '/metadata/uid') : namesObject(body);

/**
 * Observes the writes of a controller under test. Each change, eviction or deletion must contain the UID or the version
 * of its object as a precondition. The server then refuses the request for another object with the same name.
 * @param byState Plural names of kinds whose objects are deleted because of their state. The delete requests for these
 * objects must contain the version.
 * @returns `wrap` forwards requests. `unbound` lists each write without a UID or version, and each deletion without a
 * version, once.
 */
export function watchBoundWrites(byState: readonly string[]): {
  readonly wrap: (transport: Transport) => Transport;
  readonly unbound: Set<string>;
} {
  const unbound = new Set<string>();
  const ofState = new RegExp(`/(${byState.join('|')})/[^/?]+(\\?|$)`);
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const { method, path, body = '{}' } = request;
      const changes = ['PATCH', 'PUT', 'DELETE'].includes(method) || /\/eviction(\?|$)/.test(path);
      const parsed = JSON.parse(body);
      const isLoose = method === 'DELETE' && ofState.test(path) && !isVersioned(parsed);
      if (changes && !EXEMPT.test(path) && (isLoose || !isBound(parsed))) unbound.add(`${method} ${path}`);
      return transport(request);
    };
  return { wrap, unbound };
}
