import type { CreateDriver } from '@mcm/conformance';
import { createLocalDriver } from '@mcm/provider-local';

/** The driver as its machine controller makes it; the endpoint stands in the Secret. */
export const createDriver: CreateDriver = ({ clock, connect }) => createLocalDriver({ clock, connect });
