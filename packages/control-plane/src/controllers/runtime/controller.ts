import { qualifiedResource } from '../../apimachinery/errors/errors.ts';
import type { Clock } from '../../apimachinery/objects/clock.ts';
import { Api, type PlaneClient } from '../client/api.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, type Resource } from '../client/resources.ts';
import { Directory } from '../discovery/directory.ts';
import { type Announcer, announcerOf, EventWriter, type Recorder, recorderOf } from '../events/events.ts';
import { metadataOnly, type Projection, projectionOf } from '../objects/projections.ts';
import { Informer } from './informer.ts';
import { WorkQueue } from './queue.ts';

export interface RuntimeEnvironment {
  readonly client: PlaneClient;
  readonly clock: Clock;
  /** Returns a number in [0, 1), for the names of pods. */
  readonly random: () => number;
  readonly onError?: ((controller: string, key: string, error: unknown) => void) | undefined;
}

/** The API client, caches and queues of a controller. */
export interface ControllerContext extends Pick<RuntimeEnvironment, 'clock' | 'random'> {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly informer: (resource: Resource) => Informer;
  /** Returns a cache with only the metadata of objects. */
  readonly metadataInformer: (resource: Resource) => Informer;
  readonly drop: (resource: Resource) => void;
  readonly directory: Directory;
  readonly queue: (work: (key: string) => Promise<void>) => WorkQueue;
  readonly recorder: (component: string) => Recorder;
  /** The field manager of the events is `userAgent`. */
  readonly announcer: (component: string, userAgent: string) => Announcer;
}

/** The function `setup` of a controller requests caches, and connects event handlers with queues. */
export interface Controller {
  readonly name: string;
  readonly needs?: string;
  readonly setup: (context: ControllerContext) => void;
}

/** Runs controllers with one set of caches until the signal is aborted. */
export async function runControllers(
  controllers: readonly Controller[],
  { client, clock, random, onError }: RuntimeEnvironment,
  signal: AbortSignal,
): Promise<void> {
  const api = new Api(client);
  const directory = new Directory(api, clock);
  const informers = new Map<string, Informer>();
  const queues: WorkQueue[] = [];
  const share = (resource: Resource, project: Projection): Informer => {
    const key = qualifiedResource(resource);
    const informer = informers.get(key) ?? new Informer(api, clock, resource, project, signal);
    informers.set(key, informer);
    return informer;
  };
  const informerOf = (resource: Resource): Informer => share(resource, projectionOf(resource));
  const eventsOf = (own: Api): EventWriter =>
    new EventWriter(own, clock, (key, error) => onError?.('events', key, error));
  const events = eventsOf(api);

  for (const { name, setup } of controllers) {
    setup({
      api,
      clock,
      random,
      signal,
      directory,
      informer: informerOf,
      metadataInformer: (resource) => share(resource, metadataOnly),
      drop: (resource) => {
        const key = qualifiedResource(resource);
        informers.get(key)?.stop();
        informers.delete(key);
      },
      queue: (work) => {
        const queue = new WorkQueue(clock, work, (key, error) => onError?.(name, key, error));
        queues.push(queue);
        return queue;
      },
      recorder: (component) => recorderOf(events, component),
      announcer: (component, userAgent) => announcerOf(eventsOf(api.as(userAgent)), component),
    });
  }
  signal.addEventListener('abort', () => {
    for (const queue of queues) queue.stop();
  });
  informerOf(CUSTOM_RESOURCE_DEFINITIONS).onChange(({ type, object, old }) =>
    directory.definitionChanged(type === 'deleted' ? undefined : object, old),
  );
  await directory.refresh();
  await Promise.all([...informers.values()].map(({ synced }) => synced));
  for (const queue of queues) queue.open();
}
