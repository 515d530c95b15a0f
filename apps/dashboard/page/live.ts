import type { Frame } from '../src/wire.ts';
import { apply, connection } from './store.ts';

/** Connects to the stream of the server. After a lost connection, the browser reconnects automatically. */
export function connect(): void {
  const stream = new EventSource('/live');
  stream.addEventListener('error', () => {
    connection.value = 'lost';
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 5_000);
  });
  stream.addEventListener('message', ({ data }: MessageEvent<string>) => {
    apply(JSON.parse(data) as Frame);
    connection.value = 'live';
  });
}
