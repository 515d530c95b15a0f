const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const ITEM_DEPTH = 2;

/**
 * Splits the JSON of a list into its items while the response arrives. If the client parsed 500 pods at once, the
 * garbage collector would treat their 10 MB of objects as long-lived.
 */
export class ItemSplitter {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;
  /** The bytes of the current item, and the bytes of the list around the items. */
  #item: Uint8Array[] = [];
  readonly #rest: Uint8Array[] = [];

  /** The caller must not change a chunk after the call of `push`. */
  push(chunk: Uint8Array): string[] {
    const items: string[] = [];
    let from = 0;
    let depth = this.#depth;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#inString) {
        at = this.#endOfString(chunk, at);
        continue;
      }
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_BRACE) {
        if (depth === ITEM_DEPTH && this.#inItems) from = at;
        depth++;
      } else if (byte === OPEN_BRACKET) {
        depth++;
        if (depth === ITEM_DEPTH && this.#opensItems(chunk.subarray(from, at))) {
          this.#rest.push(chunk.subarray(from, at + 1));
          from = at + 1;
          this.#inItems = true;
        }
      } else if (byte === CLOSE_BRACE) {
        depth--;
        if (depth === ITEM_DEPTH && this.#inItems) {
          items.push(this.#take(chunk.subarray(from, at + 1)));
          from = at + 1;
        }
      } else if (byte === CLOSE_BRACKET) {
        if (depth === ITEM_DEPTH && this.#inItems) {
          this.#inItems = false;
          from = at;
        }
        depth--;
      }
    }
    this.#depth = depth;
    this.#keep(chunk.subarray(from));
    return items;
  }

  /** Returns the list without its items. */
  rest(): string {
    return Buffer.concat([...this.#rest, ...this.#item]).toString('utf8');
  }

  #endOfString(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
    }
    return chunk.length - 1;
  }

  #opensItems(before: Uint8Array): boolean {
    const text = Buffer.concat([...this.#rest, before]).toString('utf8');
    return /"items"\s*:\s*$/.test(text);
  }

  #take(last: Uint8Array): string {
    const bytes = this.#item.length === 0 ? last : Buffer.concat([...this.#item, last]);
    this.#item = [];
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (!this.#inItems) this.#rest.push(bytes);
    else if (this.#depth > ITEM_DEPTH) this.#item.push(bytes);
  }
}
