/**
 * A stored object. Responses and watches contain the stored JSON text unchanged, and only writers parse the text. The
 * record also contains labels and selectable fields, so a selector needs no parsing.
 */
export interface StoredRecord {
  readonly namespace: string;
  readonly name: string;
  /** The revision of the store after the write, which is the `metadata.resourceVersion` of the object. */
  readonly revision: number;
  /** The JSON text starts with `{"apiVersion":…,"kind":…,"metadata":{`, in this order. */
  readonly json: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly fields: Readonly<Record<string, string>> | undefined;
}
