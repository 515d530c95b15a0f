const NEWLINE = 10;

/**
 * Splits a stream of bytes into lines, and yields the lines that each chunk completes. `jsonLines` drops an incomplete
 * line at the end of the stream.
 */
export async function* jsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string[], void, void> {
  let pending: Uint8Array[] = [];
  for await (const chunk of body) {
    let start = 0;
    let end = chunk.indexOf(NEWLINE);
    if (end < 0) {
      pending.push(chunk);
      continue;
    }
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: string[] = [];
    if (pending.length > 0) {
      lines.push(Buffer.concat([...pending, chunk.subarray(0, end)]).toString('utf8'));
      pending = [];
      start = end + 1;
      end = chunk.indexOf(NEWLINE, start);
    }
    while (end >= 0) {
      if (end > start) lines.push(bytes.toString('utf8', start, end));
      start = end + 1;
      end = chunk.indexOf(NEWLINE, start);
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
}
