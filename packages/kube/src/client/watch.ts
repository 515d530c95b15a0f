import type { WatchEvent } from '../contract/client.ts';
import { KubeError, type StatusBody } from '../contract/errors.ts';
import type { Call, Exchange, Stream } from './exchange.ts';
import { jsonLines } from './json-lines.ts';
import { noAnswer, parseJson, watchRefusal } from './refusal.ts';

type RawEvent<T> = WatchEvent<T> | { readonly type: 'ERROR'; readonly object: StatusBody };

function toEvent<T>(line: string, call: Call): WatchEvent<T> {
  const event = parseJson(line, call) as RawEvent<T>;
  if (event.type === 'ERROR') throw watchRefusal(call, event.object);
  return event;
}

async function* read<T>(stream: Stream, call: Call): AsyncGenerator<WatchEvent<T>, void, void> {
  const { body } = stream.response;
  if (body === null) return;
  for await (const lines of jsonLines(body)) {
    for (const line of lines) yield toEvent<T>(line, call);
  }
}

/** Implements `ResourceReader.watch`. */
export async function* watchEvents<T>(
  exchange: Exchange,
  call: Call,
  onOpen: (() => void) | undefined,
): AsyncGenerator<WatchEvent<T>, void, void> {
  const stream = await exchange.stream(call);
  try {
    onOpen?.();
    yield* read<T>(stream, call);
    call.signal?.throwIfAborted();
  } catch (error) {
    call.signal?.throwIfAborted();
    throw error instanceof KubeError ? error : noAnswer(call, error);
  } finally {
    stream.end();
  }
}
