import type { Frame } from '../src/wire.ts';
import { apply, connection } from './store.ts';

/** Connects to the stream of changes from the server. After a lost connection, the browser reconnects automatically. */
export function connect(): void {
  const stream = new EventSource('/live');
  stream.addEventListener('error', () => {
    connection.value = 'lost';
    if (stream.readyState !== EventSource.CLOSED) return;
    setTimeout(connect, 5_000);
    void leaveIfRefused();
  });
  stream.addEventListener('message', ({ data }: MessageEvent<string>) => {
    apply(JSON.parse(data) as Frame);
    connection.value = 'live';
  });
}

/**
 * Loads the page again if the server refuses the user, for example because the session has expired. The server then
 * sends the login page, which contains the reason.
 */
async function leaveIfRefused(): Promise<void> {
  try {
    const { status, redirected } = await fetch(location.pathname, { method: 'HEAD' });
    if (redirected || status === 401 || status === 403) location.reload();
  } catch {
    return; // The server did not respond, so the page tries to connect again.
  }
}
